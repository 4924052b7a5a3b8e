#include "pool.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#if defined(__linux__)
#include <sched.h>
#endif
#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace lambdak {
namespace {

int current_cpu() {
#if defined(__linux__)
  return sched_getcpu();
#else
  return -1;
#endif
}

// Linux often wakes a thread on the CPU of the thread that woke it, where the two then take turns for milliseconds.
void leave_cpu([[maybe_unused]] int cpu) {
#if defined(__linux__)
  cpu_set_t allowed, others;
  if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getcpu() != cpu) return;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  others = allowed;
  CPU_CLR(cpu, &others);
  if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof others, &others) != 0) return;
  sched_setaffinity(0, sizeof allowed, &allowed);
#endif
}

// Waits for a condition without sleeping, for some tens of microseconds at most.
template <class Condition> void spin_until(Condition met) {
  for (int spin = 0; spin < 2000 && !met(); ++spin) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
}

class Pool {
 public:
  // True if the loop was run; false if the pool was busy with another caller's.
  bool run(int64_t chunks, int threads, const std::function<void(int64_t)>& body) {
    std::unique_lock<std::mutex> turn(busy_, std::try_to_lock);
    if (!turn) return false;
    try {
      for (; started_ < threads - 1; ++started_) std::thread(&Pool::work, this, started_).detach();
    } catch (const std::system_error&) {  // the system has no more threads: continue with those that were started
    }
    {
      std::lock_guard<std::mutex> lock(state_);
      body_ = &body;
      chunks_ = chunks;
      next_ = 0;
      helpers_ = std::min(threads - 1, started_);
      caller_cpu_ = current_cpu();
      ++round_;
      published_.store(round_, std::memory_order_release);
    }
    wake_.notify_all();
    drain(body, chunks);
    close();
    // The helpers are at their last chunk: a caller that slept now would wake up late, and on one of their CPUs.
    spin_until([this] { return running_.load(std::memory_order_acquire) == 0; });
    std::unique_lock<std::mutex> lock(state_);
    idle_.wait(lock, [this] { return running_ == 0; });
    return true;
  }

 private:
  // A helper whose CPU was busy until now is too late to join: the caller does not wait for it.
  void close() {
    std::lock_guard<std::mutex> lock(state_);
    helpers_ = 0;
  }

  void drain(const std::function<void(int64_t)>& body, int64_t chunks) {
    for (int64_t chunk; (chunk = next_.fetch_add(1)) < chunks;) body(chunk);
  }

  void work(int rank) {
    for (uint64_t seen = 0;;) {
      // Training calls the kernel every few microseconds: spinning for a moment saves the sleep and the wake-up.
      spin_until([&] { return published_.load(std::memory_order_acquire) != seen; });
      std::unique_lock<std::mutex> lock(state_);
      wake_.wait(lock, [&] { return round_ != seen; });
      seen = round_;
      if (rank >= helpers_) continue;
      ++running_;
      const auto* body = body_;
      const int64_t chunks = chunks_;
      const int caller = caller_cpu_;
      lock.unlock();
      leave_cpu(caller);
      drain(*body, chunks);
      lock.lock();
      if (--running_ == 0) idle_.notify_one();
    }
  }

  std::mutex busy_, state_;
  std::condition_variable wake_, idle_;
  int started_ = 0, helpers_ = 0, caller_cpu_ = -1;
  std::atomic<int> running_{0};
  uint64_t round_ = 0;
  std::atomic<uint64_t> published_{0};
  const std::function<void(int64_t)>* body_ = nullptr;
  int64_t chunks_ = 0;
  std::atomic<int64_t> next_{0};
};

std::atomic<Pool*> shared{nullptr};
std::atomic<int> callers{0};  // inside of parallel_for

struct Caller {
  const int others = callers.fetch_add(1);
  ~Caller() { callers.fetch_sub(1); }
};

// After fork a child has none of the pool's threads, and perhaps a locked mutex: it abandons the pool and creates its own.
#if !defined(_WIN32)
[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, [] { shared.store(nullptr), callers.store(0); });
#endif

// Never deleted: its threads may outlive every static destructor.
Pool& pool() {
  Pool* current = shared.load();
  if (current) return *current;
  Pool* fresh = new Pool;
  if (shared.compare_exchange_strong(current, fresh)) return *fresh;
  delete fresh;
  return *current;
}

}  // namespace

void parallel_for(int64_t chunks, int threads, const std::function<void(int64_t)>& body) {
  const Caller caller;
  threads = int(std::min<int64_t>(threads - caller.others, chunks));
  if (threads > 1 && pool().run(chunks, threads, body)) return;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) body(chunk);
}

}  // namespace lambdak
