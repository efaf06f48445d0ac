// The device's time: multiprocessors shared by busy kernels, copy engines, and work that the processor does.
#include "world.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <thread>

namespace cuda_double
{
namespace
{

struct Kernel
{
    Place place;
    double left_ns;
    double rate = 0;
    bool done = false;
    Time end{};
};

/// All busy kernels, as a fluid: each has a rate until one comes or goes.
struct Processors
{
    std::mutex lock;
    std::condition_variable changed;
    std::vector<Kernel*> running;
    Time reached{};

    /// How much of a multiprocessor a kernel gets, over those that it may use and all that there are.
    void share()
    {
        int const all = control().sms;
        for (Kernel* kernel : running)
        {
            kernel->rate = 0;
            Sms const& own = kernel->place.sms;
            for (int sm = own.first; sm < own.first + own.count; ++sm)
            {
                int users = 0;
                bool first = true;
                for (Kernel const* other : running)
                {
                    Sms const& theirs = other->place.sms;
                    bool const here = theirs.device == own.device && sm >= theirs.first && sm < theirs.first + theirs.count;
                    users += here && other->place.priority == kernel->place.priority ? 1 : 0;
                    if (control().sharing == Sharing::priority)
                        first = first && !(here && other->place.priority < kernel->place.priority);
                    else if (here && other->place.priority != kernel->place.priority)
                        ++users;
                }
                if (control().sharing == Sharing::off)
                    users = 1;
                kernel->rate += first ? 1.0 / users / all : 0;
            }
        }
    }

    /// Up to this time; kernels that end on the way leave at their moment.
    void advance(Time to)
    {
        while (reached < to)
        {
            Time next = to;
            for (Kernel const* kernel : running)
                next = std::min(next, endOf(*kernel));
            double const passed = static_cast<double>((next - reached).count());
            bool ended = false;
            for (Kernel* kernel : running)
            {
                kernel->left_ns -= passed * kernel->rate;
                kernel->done = kernel->left_ns < 0.5;
                kernel->end = next;
                ended = ended || kernel->done;
            }
            reached = next;
            if (ended)
            {
                running.erase(std::remove_if(running.begin(), running.end(), [](Kernel const* k) { return k->done; }), running.end());
                share();
                changed.notify_all();
            }
        }
    }

    /// If nothing changes; a day ahead for one that does not run.
    Time endOf(Kernel const& kernel) const
    {
        double const day = 86400e9;
        double const left = kernel.rate > 0 ? std::min(day, std::max(0.0, kernel.left_ns) / kernel.rate) : day;
        return reached + Nanos(static_cast<int64_t>(std::ceil(left)));
    }

    Time run(Place const& place, Time start, Nanos work)
    {
        Lock held(lock);
        Time const begin = now();
        if (running.empty())
            reached = begin;
        else
            advance(begin);
        Kernel own{place, static_cast<double>(work.count())};
        running.push_back(&own);
        share();
        changed.notify_all();
        // The stream's thread came a little late: what the device would have done since then is done.
        own.left_ns -= own.rate * static_cast<double>(std::max<int64_t>(0, (begin - start).count()));
        if (own.left_ns <= 0 && own.rate > 0)
        {
            running.erase(std::find(running.begin(), running.end(), &own));
            share();
            return begin + Nanos(static_cast<int64_t>(own.left_ns / own.rate));
        }
        while (!own.done)
        {
            changed.wait_until(held, endOf(own));
            advance(now());
        }
        return own.end;
    }
};

/// When each engine will be free; by device and direction.
struct Engines
{
    std::mutex lock;
    std::map<std::pair<int, bool>, Time> free_at;
};

Processors& processors()
{
    static Processors* const the = new Processors;
    return *the;
}

Engines& engines()
{
    static Engines* const the = new Engines;
    return *the;
}

} // namespace

Time busy(Place const& place, Time start, Nanos work) { return work.count() <= 0 ? start : processors().run(place, start, work); }

Time measured(Time start, std::function<void()> const& work)
{
    auto const used = [] {
        timespec time{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return std::chrono::seconds(time.tv_sec) + Nanos(time.tv_nsec);
    };
    auto const before = used();
    work();
    return start + (used() - before);
}

Time transfer(int device, bool to_device, std::size_t bytes, Time start, std::function<void()> const& copy)
{
    uint64_t const bandwidth = to_device ? control().h2d_bytes_s : control().d2h_bytes_s;
    if (bandwidth == 0)
        return measured(start, copy);
    Time end;
    {
        std::lock_guard<std::mutex> const held(engines().lock);
        Time& free = engines().free_at[{device, to_device}];
        double const seconds = static_cast<double>(bytes) / static_cast<double>(bandwidth);
        end = std::max(start, free) + Nanos(std::llround(seconds * 1e9));
        free = end;
    }
    std::this_thread::sleep_until(end);
    copy(); // not before: who reads too early shall see it
    return end;
}

} // namespace cuda_double
