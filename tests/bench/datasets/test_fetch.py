"""A file comes whole or not at all, and a second try goes on from the first."""

import http.server
import threading
from contextlib import contextmanager

import pytest

from macfm.bench.datasets import DownloadError
from macfm.bench.datasets._fetch import fetch

BODY = bytes(range(256)) * 1000


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves BODY; the server's attributes say how badly."""

    def do_GET(self):
        server = self.server
        server.asked.append(self.headers.get("Range"))
        if server.answers:
            self.send_error(server.answers.pop(0))
            return
        start = 0
        wanted = self.headers.get("Range")
        fresh = self.headers.get("If-Range") in (None, server.tag)
        if wanted and server.ranges and fresh:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if start >= len(server.body):
                self.send_error(416)
                return
            self.send_response(206)
            last = len(server.body) - 1
            self.send_header(
                "Content-Range", f"bytes {start}-{last}/{len(server.body)}"
            )
        else:
            self.send_response(200)
        rest = server.body[start:]
        if server.sized:
            self.send_header("Content-Length", str(len(rest)))
        if server.tag:
            self.send_header("ETag", server.tag)
        self.end_headers()
        keep = server.breaks.pop(0) if server.breaks else len(rest)
        self.wfile.write(rest[:keep])

    def log_message(self, *args):
        pass


@contextmanager
def serving(body=BODY, *, ranges=True, sized=True, tag='"one"', breaks=(), answers=()):
    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    server.body, server.ranges, server.sized, server.tag = body, ranges, sized, tag
    server.breaks, server.answers, server.asked = list(breaks), list(answers), []
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    server.url = f"http://127.0.0.1:{server.server_port}/file.zip"
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def leftovers(path):
    return sorted(p.name for p in path.parent.iterdir())


@pytest.mark.parametrize("sized", [True, False])
def test_a_file_arrives_whole_and_leaves_nothing_beside_it(tmp_path, sized):
    path = tmp_path / "new" / "file.zip"
    with serving(sized=sized) as server:
        fetch(server.url, path)
    assert path.read_bytes() == BODY
    assert leftovers(path) == ["file.zip"]


def test_a_broken_transfer_is_resumed_where_it_stopped(tmp_path):
    path = tmp_path / "file.zip"
    with serving(breaks=[100_000, 50_000]) as server:
        fetch(server.url, path, pause=0)
        assert server.asked == [None, "bytes=100000-", "bytes=150000-"]
    assert path.read_bytes() == BODY


def test_what_came_is_kept_for_the_next_call(tmp_path):
    path = tmp_path / "file.zip"
    with serving(breaks=[100_000]) as server:
        with pytest.raises(DownloadError, match=r"broke off 1 times.*the next try"):
            fetch(server.url, path, attempts=1)
        assert not path.exists()
        assert leftovers(path) == ["file.zip.part", "file.zip.part.tag"]
        fetch(server.url, path)
        assert server.asked == [None, "bytes=100000-"]
    assert path.read_bytes() == BODY
    assert leftovers(path) == ["file.zip"]


def test_a_server_without_ranges_sends_all_again(tmp_path):
    path = tmp_path / "file.zip"
    with serving(ranges=False, breaks=[100_000]) as server:
        fetch(server.url, path, pause=0)
    assert path.read_bytes() == BODY


def test_the_rest_of_another_version_is_not_glued_on(tmp_path):
    path = tmp_path / "file.zip"
    with serving(breaks=[100_000]) as server, pytest.raises(DownloadError):
        fetch(server.url, path, attempts=1)
    changed = BODY[::-1]
    with serving(changed, tag='"two"') as server:
        fetch(server.url, path)
    assert path.read_bytes() == changed


def test_a_part_longer_than_the_file_is_dropped(tmp_path):
    path = tmp_path / "file.zip"
    (tmp_path / "file.zip.part").write_bytes(BODY + b"more")
    with serving() as server:
        fetch(server.url, path, pause=0)
    assert path.read_bytes() == BODY


def test_a_busy_server_is_asked_again(tmp_path):
    path = tmp_path / "file.zip"
    with serving(answers=[503, 429]) as server:
        fetch(server.url, path, pause=0)
    assert path.read_bytes() == BODY


def test_a_file_that_is_not_there_is_an_error_at_once(tmp_path):
    path = tmp_path / "file.zip"
    with (
        serving(answers=[404]) as server,
        pytest.raises(DownloadError, match="answered 404 Not Found; the file may have"),
    ):
        fetch(server.url, path)
    assert leftovers(path) == []


def test_no_connection_is_an_error_that_names_the_address(tmp_path):
    with serving() as server:
        url = server.url
    with pytest.raises(DownloadError, match=rf"{url} cannot be reached"):
        fetch(url, tmp_path / "file.zip")
