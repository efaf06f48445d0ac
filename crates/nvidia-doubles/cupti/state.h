// What the double of libcupti knows, and how what happens becomes a record.
#pragma once

#include "records.h"

#include <map>
#include <mutex>
#include <set>
#include <string>

namespace cupti_double
{

struct State
{
    std::mutex lock;
    bool subscribed = false;
    CUpti_CallbackFunc callback = nullptr;
    void* user = nullptr;
    std::set<uint32_t> resource_callbacks;
    CUpti_BuffersCallbackRequestFunc requested = nullptr;
    CUpti_BuffersCallbackCompleteFunc completed = nullptr;
    uint64_t (*timestamp)() = nullptr;
    int64_t ahead = 0; // of CLOCK_MONOTONIC the timestamp callback
    std::set<uint32_t> enabled;
    std::map<std::pair<uint32_t, uint32_t>, bool> calls; // switched on or off alone, by kind and number
    std::set<std::string> names; // live as long as the process, as a module's do
    std::set<std::string> faults;
    std::string faults_told;
    std::map<std::string, uint64_t> orders;
    std::multimap<uint64_t, std::pair<std::string, uint64_t>> later; // orders, by how much work of the device is recorded before
    uint64_t emitted = 0;
    std::map<uint32_t, CUptiResult> refused;
    std::map<uint32_t, std::size_t> lengths; // that were told
    std::map<std::string, uint64_t> known;   // what is asked
    uint8_t* buffer = nullptr;
    std::size_t size = 0;
    std::size_t used = 0;
    std::size_t dropped = 0;
};

/// Never destroyed: threads of the driver's double may run until the process is gone.
State& state();

using Lock = std::unique_lock<std::mutex>;

/// A node of a graph is made, or cloned of another: the subscriber is told; without the lock.
void nodeMade(uint64_t node, uint64_t original);
/// Records it with the external numbers of this thread before a call; takes the lock.
void happened(Activity const& activity);

// --- the clock of the records (clock.cpp) -------------------------------------------------------------------------------

/// Now; with the lock.
uint64_t stamp();
/// The program's own clock from now on; null: none; with the lock.
void setClock(uint64_t (*clock)());
/// A moment of CLOCK_MONOTONIC, as the driver's double has it; 0 stays 0; without the lock.
uint64_t stampOf(uint64_t monotonic);

// --- the driver's double (driver.cpp) -----------------------------------------------------------------------------------

/// Has it tell what happens from now on, if it is the process's libcuda; without the lock.
void attach();
/// What there is of a kind: contexts or streams; without the lock.
std::vector<Activity> there(uint32_t kind);
/// The numbers of handles; 0 where the driver is another.
uint32_t streamNumber(void* stream);
uint32_t contextNumber(void* context);
/// The name of a call of the driver; null for a number that the double does not know.
char const* driverCall(uint32_t id);

} // namespace cupti_double
