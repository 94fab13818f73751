(function () {
  "use strict";
  var box = document.getElementById("show-published");
  if (box) {
    var show = function () {
      document.body.classList.toggle("with-published", box.checked);
    };
    box.addEventListener("change", show);
    show();
  }
  function key(row, place) {
    var cell = row.cells[place];
    if (!("sort" in cell.dataset)) { return cell.textContent.trim().toLowerCase(); }
    var text = cell.dataset.sort;
    if (text === "") {
      var printed = cell.querySelector(".published");
      text = printed ? printed.dataset.value : "";
    }
    return text === "" ? null : Number(text);
  }
  function compare(a, b) {
    if (a === null || b === null) { return (a === null) - (b === null); }
    if (typeof a === "number" && typeof b === "number") { return a - b; }
    return String(a).localeCompare(String(b));
  }
  document.querySelectorAll("table.sortable").forEach(function (table) {
    var body = table.tBodies[0];
    var original = Array.from(body.rows);
    Array.from(table.tHead.rows[0].cells).forEach(function (head, place) {
      head.querySelector("button").addEventListener("click", function () {
        var was = head.getAttribute("aria-sort");
        var next = !was ? "ascending" : was === "ascending" ? "descending" : null;
        Array.from(table.tHead.rows[0].cells).forEach(function (other) {
          other.removeAttribute("aria-sort");
        });
        var rows = original.slice();
        if (next) {
          head.setAttribute("aria-sort", next);
          rows.sort(function (a, b) {
            var x = key(a, place), y = key(b, place), order = compare(x, y);
            // Empty cells stay at the bottom whichever way the others go.
            return next === "descending" && x !== null && y !== null ? -order : order;
          });
        }
        rows.forEach(function (row) { body.appendChild(row); });
      });
    });
  });
})();
