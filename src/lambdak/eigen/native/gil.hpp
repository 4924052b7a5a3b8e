// The GIL, released for the time of a loop.
#pragma once
#include <nanobind/nanobind.h>

#include <chrono>
#include <thread>

namespace lambdak {

// Until Python 3.14, a daemon thread that asks for the GIL while the interpreter ends is itself ended there, by unwinding its
// stack on glibc: the first noexcept frame, and nanobind has one in every call, would then abort the process. The thread sleeps
// instead until the process ends, as it does from Python 3.14 on. It holds no lock at that time.
class SleepUnlessReturned {
 public:
  ~SleepUnlessReturned() {
    while (!returned) std::this_thread::sleep_for(std::chrono::hours(1));
  }
  bool returned = false;
};

// Not inlined: inside a noexcept function the compiler may drop what runs while the stack unwinds.
[[gnu::noinline]] inline void take_gil(PyThreadState* thread) noexcept(false) {
  SleepUnlessReturned guard;
  PyEval_RestoreThread(thread);
  guard.returned = true;
}

class WithoutGil {
 public:
  WithoutGil() : thread_(PyEval_SaveThread()) {}
  ~WithoutGil() { take_gil(thread_); }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* thread_;
};

}  // namespace lambdak
