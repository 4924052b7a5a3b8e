"""Workers end with the driver, however that ends."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys

import pytest

pytest.importorskip("pyarrow")

PATIENCE = 300  # seconds, for a busy machine; workers would live twice as long
DRIVER = f"""
import socket, sys, time
from functools import partial
from pathlib import Path

from lambdak.paper.parts import Piece, run_pieces

def wait(port, threads):
    with socket.create_connection(("127.0.0.1", port)):
        time.sleep({2 * PATIENCE})

if __name__ == "__main__":
    pieces = [Piece(f"part-{{i}}", 1, partial(wait, int(sys.argv[2]))) for i in range(2)]
    list(run_pieces(Path(sys.argv[1]), {{}}, pieces, workers=2))
"""


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["SIGKILL", "SIGTERM"])
def test_a_driver_that_is_killed_leaves_no_worker_behind(tmp_path, ending):
    if not hasattr(signal, ending):
        pytest.skip(f"no {ending}")
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(PATIENCE)
        port = str(server.getsockname()[1])
        driver = subprocess.Popen([sys.executable, script, tmp_path / "study", port])
        try:
            workers = [server.accept()[0] for _ in range(2)]
        finally:
            driver.send_signal(getattr(signal, ending))
            driver.wait()
        for worker in workers:
            worker.settimeout(PATIENCE)
            assert worker.recv(1) == b""  # the system closes the connections of a process that has ended
            worker.close()
