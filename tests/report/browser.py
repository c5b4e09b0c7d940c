#!/usr/bin/env python3
"""Opens a report in a real, headless Chromium (by WebDriver): it renders, tables sort, curves show values,
nothing is asked from a network. Exit code 77: there is no Chromium here.

    browser.py LOCKSTEP
"""
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request


def call(base, method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(base + path, data=data, method=method, headers={"Content-Type": "application/json"})
    return json.loads(urllib.request.urlopen(request, timeout=60).read())["value"]


class Browser:
    def __init__(self, width):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.driver = subprocess.Popen(["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.base = f"http://127.0.0.1:{port}"
        options = {"args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--window-size={width},900"]}
        wanted = {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options,
                                                   "goog:loggingPrefs": {"performance": "ALL", "browser": "ALL"}}}}
        for _ in range(100):
            try:
                self.session = "/session/" + call(self.base, "POST", "/session", wanted)["sessionId"]
                return
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        raise SystemExit("chromedriver did not start")

    def do(self, method, path, body=None):
        return call(self.base, method, self.session + path, body)

    def run(self, script):
        return self.do("POST", "/execute/sync", {"script": script, "args": []})

    def log(self, kind):
        return self.do("POST", "/se/log", {"type": kind})

    def close(self):
        try:
            self.do("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait(10)


def expect(condition, what):
    if not condition:
        raise SystemExit(f"failed: {what}")


def column(browser, table, index):
    return browser.run(f"return [...document.querySelectorAll('table')[{table}].tBodies[0].rows].map((r) => r.cells[{index}].textContent)")


def check(browser, page):
    browser.do("POST", "/url", {"url": page.as_uri()})
    expect(browser.run("return document.querySelector('h1').textContent") == "A report", "the title is shown")
    expect(browser.run("return document.querySelectorAll('figure svg path, figure svg rect').length") > 3, "charts are drawn")
    expect(browser.run("return document.documentElement.scrollWidth <= window.innerWidth + 1"), "nothing sticks out sideways")

    heads = browser.run("return [...document.querySelectorAll('table')[0].tHead.rows[0].cells].map((c) => c.textContent)")
    for head in ("kind", "ranks", "batch per rank", "global batch", "learning rate", "speed-up over 1 rank"):
        expect(any(text.startswith(head) for text in heads), f"the table has a column '{head}': {heads}")
    charts = browser.run("return [...document.querySelectorAll('figure')].map((f) => f.textContent)")
    expect(any(text.startswith("Scaling: speed-up over 1 rank") and "the global batch goes from" in text for text in charts), "scaling says that its batch grows")
    tiles = browser.run("return [...document.querySelectorAll('.card')].map((c) => c.textContent)")
    expect(any("measured" in text for text in tiles) and all("NaN" not in text for text in tiles), f"tiles say their kind: {tiles}")
    total = heads.index("total s")
    for ascending in (True, False):
        browser.run(f"document.querySelectorAll('table')[0].tHead.rows[0].cells[{total}].click()")
        numbers = [float(text.split()[0]) for text in column(browser, 0, total)]
        expect(numbers == sorted(numbers, reverse=not ascending) and len(numbers) >= 3, f"the table sorts: {numbers}")

    # A pointer over a curve shows its value.
    box = browser.run("const c = [...document.querySelectorAll('figure')].find((f) => f.textContent.includes('Training loss')).querySelector('svg');"
                      "c.scrollIntoView({block: 'center'}); const b = c.getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]")
    browser.do("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [
        {"type": "pointerMove", "duration": 0, "x": int(box[0]), "y": int(box[1]), "origin": "viewport"}]}]})
    tip = browser.run("return [...document.querySelectorAll('.tip')].filter((t) => !t.hidden).map((t) => t.textContent).join()")
    expect("step" in tip and ":" in tip, f"a curve shows its values: '{tip}'")

    asked = []
    for entry in browser.log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            asked.append(message["params"]["request"]["url"])
    expect(all(url.startswith(("file:", "data:")) for url in asked) and asked, f"nothing is asked from a network: {asked}")
    errors = [entry for entry in browser.log("browser") if entry["level"] == "SEVERE"]
    expect(not errors, f"no errors in the console: {errors}")


def main():
    if not shutil.which("chromedriver") or not (shutil.which("chromium") or shutil.which("google-chrome")):
        print("skipped: there is no Chromium with its driver here")
        raise SystemExit(77)
    lockstep = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        def run(*words):
            subprocess.run([lockstep, *words], check=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        (folder / "s.toml").write_text('title = "Grid"\nconfig = "iris-mlp"\ncolumns = ["test_accuracy", "total_seconds", "speed_up"]\n'
                                       'repeats = 2\n[set]\ntrain.epochs = 30\ntrain.log_every = 5\nparallel.backend = "threads"\n[grid]\nparallel.ranks = [1, 2, 4]\n')
        run("study", "s.toml", "--out", "st")
        run("train", "iris-mlp", "--ranks", "2", "--backend", "threads", "--trace", "--set", "train.log_every=5", "--out", "traced")
        run("report", "st", "traced", "-o", "report.html", "--title", "A report")
        for width in (1200, 390):  # a desk and a phone
            browser = Browser(width)
            try:
                check(browser, folder / "report.html")
            finally:
                browser.close()
        # A thousand runs open within two seconds.
        for i in range(1000):
            shutil.copytree(folder / "traced", folder / "many" / f"run{i}", ignore=shutil.ignore_patterns("model", "trace.json"))
        run("report", *[f"many/run{i}" for i in range(1000)], "-o", "many.html", "--title", "A report")
        browser = Browser(1200)
        try:
            start = time.monotonic()
            browser.do("POST", "/url", {"url": (folder / "many.html").as_uri()})
            rows = browser.run("return document.querySelectorAll('table')[0].tBodies[0].rows.length")
            seconds = time.monotonic() - start
            expect(rows == 1000, f"a thousand rows, not {rows}")
            expect(seconds < 2, f"a thousand runs open in {seconds:.1f} s")
        finally:
            browser.close()
    print("the report works")


main()
