// Browsers do not let a page opened from a folder start the search.
if (location.protocol === "file:") {
  document.documentElement.classList.add("from-folder");
}
