"""A process that ends while its threads compute: no abort, no hang, and not a word on the screen."""

from __future__ import annotations

import subprocess
import sys

import pytest

PATIENCE = 300  # seconds, for a busy machine
EXITS = 30
HEADER = "import atexit, os, sys, threading, time\n"
CALLS = {
    "eigenpair of one matrix": """
import numpy as np, lambdak
packed = np.random.default_rng(0).standard_normal(45)
eigenpair = lambdak.eigenpair  # imported here: Python refuses imports by threads while it ends
call = lambda: eigenpair(packed, 9, 4)
""",
    "eigenpair of a batch": """
import numpy as np, lambdak
packed = np.random.default_rng(0).standard_normal((2000, 45))
eigenpair = lambdak.eigenpair  # imported here: Python refuses imports by threads while it ends
call = lambda: eigenpair(packed, 9, 4)
""",
    "predict": """
import numpy as np, lambdak
X = np.random.default_rng(0).standard_normal((200, 3))
model = lambdak.SpectralRegressor(effort="fast", max_iter=2, random_state=0).fit(X, X[:, 0])
call = lambda: model.predict(X)
""",
    "fit": """
import numpy as np, lambdak
X = np.random.default_rng(0).standard_normal((60, 3))
call = lambda: lambdak.SpectralRegressor(effort="fast", max_iter=2, random_state=0).fit(X, X[:, 0])
""",
}
DAEMONS = """
def forever():
    while True:
        call()

def work():
    for _ in range(3):
        threading.Thread(target=forever, daemon=True).start()
    time.sleep(0.05)
"""
# Every child returns from its main thread, which is what ends the interpreter. Without the freeze most of the time
# would go to looking for garbage among what was imported.
MANY_EXITS = f"""
import gc
gc.freeze()
for _ in range({EXITS}):
    child = os.fork()
    if child == 0:
        work()
        sys.exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        sys.exit(f"a child ended with {{code}}")
"""


def run(program):
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", HEADER + program],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
@pytest.mark.parametrize("call", CALLS)
def test_daemon_threads_inside_calls_do_not_abort_a_process_that_ends(call):
    done = run(CALLS[call] + DAEMONS + MANY_EXITS)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.slow
def test_a_process_that_was_not_forked_ends_as_well():
    for _ in range(3):
        done = run(CALLS["eigenpair of a batch"] + DAEMONS + "work()\n")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


AT_EXIT = """
@atexit.register
def last():
    wanted = lambdak.eigenvalue(packed, 9, 4, n_jobs=1).tobytes()
    assert lambdak.eigenvalue(packed, 9, 4, n_jobs=2).tobytes() == wanted
    print("computed")
"""


@pytest.mark.slow
def test_the_main_thread_still_computes_at_exit_while_daemons_do():
    own = CALLS["eigenpair of a batch"]
    for program in (AT_EXIT + own, own + AT_EXIT):  # registered before and after the kernel is imported
        done = run(program + DAEMONS + "work()\n")
        assert (done.returncode, done.stdout, done.stderr) == (0, "computed\n", "")


@pytest.mark.slow
def test_threads_that_python_waits_for_finish_their_calls():
    pool = """
from concurrent.futures import ThreadPoolExecutor
pool = ThreadPoolExecutor(3)
for _ in range(40):
    pool.submit(call).add_done_callback(lambda done: print(f"{len(done.result())}\\n", end=""))
threading.Thread(target=lambda: [call() for _ in range(20)] and print("joined\\n", end="")).start()
"""
    done = run(CALLS["eigenpair of a batch"] + pool)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.split()) == ["2"] * 40 + ["joined"]
