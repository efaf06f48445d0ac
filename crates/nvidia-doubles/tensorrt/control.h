// What a test asks of the double and learns from it: plain C functions that both libraries export beside the
// TensorRT entry points. Each library answers for its own objects: ask libnvonnxparser's for the parser, libnvinfer's
// for the rest.
//
// Texts are UTF-8, ended by 0, and valid until the next call of the same function from the same thread. Names of
// methods are those of the public classes: "IRuntime::deserializeCudaEngine"; entry points have no class:
// "createInferRuntime_INTERNAL".
#pragma once

#include <cstdint>

#define DOUBLE_API extern "C" __attribute__((visibility("default")))

// --- Observation --------------------------------------------------------------------------------------------------

/// Starts (1) or stops (0) the call log. Off at first: a logged call costs microseconds.
DOUBLE_API void double_record(int32_t on);
/// The call log since the last double_clear_calls: one line a call, in the order in which the calls ended, as
/// `IRuntime#1::setMaxThreads(3) -> true`. Objects of the double appear as CLASS#NUMBER (numbers count up from 1 over
/// all classes), other pointers as 0x..., text as "...", null as null, Dims as [1,3,-1], enums as numbers.
DOUBLE_API char const* double_calls();
DOUBLE_API void double_clear_calls();
/// How often the method was called while recording or while a failure was set, and since double_reset.
DOUBLE_API uint64_t double_count(char const* method);

/// What the caller did that TensorRT forbids: one line each. Empty text: nothing. Covers order of deletion, use after
/// deletion, double deletion, a wrong object as argument, one object used by two threads at once.
DOUBLE_API char const* double_violations();
/// Objects of this class that live now (`"IHostMemory"`); all classes for null.
DOUBLE_API uint64_t double_live(char const* klass);
/// Classes with living objects, as lines `ICudaEngine 2`.
DOUBLE_API char const* double_live_objects();
/// All methods in the headers of this library's classes: lines `1 IRuntime::setMaxThreads` (written by hand or kept as
/// a property) or `0 INetworkDefinition::addLoop` (does nothing, answers null or 0).
DOUBLE_API char const* double_methods();
/// "trt" or "rtx" and the headers' version: `trt 11.4.0.106`.
DOUBLE_API char const* double_flavour();
/// Number of frames enqueued successfully since double_reset, over all contexts.
DOUBLE_API uint64_t double_enqueued();

// --- Control ------------------------------------------------------------------------------------------------------

/// The nth call from now (1 = the next) of this method fails: it does nothing, logs an error, reports it to the error
/// recorder, and returns `value` (pointers: the address; bool: value != 0; integers and enums: the number; Dims: -1
/// dimensions; void: nothing). nth 0 takes the order back.
DOUBLE_API void double_fail(char const* method, uint64_t nth, int64_t value);
/// The library now says that it is this version (see getInferLibVersion, or getNvOnnxParserVersion in the parser);
/// 0: its own again. Plans are then of that version too.
DOUBLE_API void double_set_version(int32_t version);
/// 1: no GPU: createInferRuntime_INTERNAL logs CUDA's error 35 and returns 0x228, as the lean libraries do.
/// 2: as TensorRT-RTX: the runtime is made, but deserializeCudaEngine logs error 35 and returns null. 0: a GPU is there.
DOUBLE_API void double_set_gpu_absent(int32_t mode);
/// Sends a message of this severity (0 internal error, 1 error, 2 warning, 3 info, 4 verbose) to the logger in force.
DOUBLE_API void double_log(int32_t severity, char const* text);
/// DLA cores that builder and runtime report; 0 at first.
DOUBLE_API void double_set_dla_cores(int32_t cores);
/// Milliseconds that each step of a build takes; 0 at first.
DOUBLE_API void double_set_build_step_ms(int32_t ms);
/// 0: enqueueV3 counts the frame and answers true, nothing else, not even ranges (for overhead benchmarks); 1 (at first): it computes.
DOUBLE_API void double_set_compute(int32_t on);
/// Log, orders, counts, violations, pretences: all as at start. Objects that live stay alive.
DOUBLE_API void double_reset();

// --- Benchmark ----------------------------------------------------------------------------------------------------

/// n calls of enqueueV3(stream) made from C++ on this IExecutionContext; nanoseconds for all of them, or -1 if a call
/// failed.
DOUBLE_API int64_t double_bench_enqueue(void* context, void* stream, uint64_t n);
/// The same for setTensorAddress(name, address).
DOUBLE_API int64_t double_bench_address(void* context, char const* name, void* address, uint64_t n);
/// n frames in a closed loop on a stream of its own in the current device context: pinned copy in, enqueueV3, copy out,
/// four stamps, asking for the last one, three stages read. Nanoseconds for all of them, or -1 if a call failed;
/// `submitting`: those until everything was enqueued.
DOUBLE_API int64_t double_bench_frames(void* context, char const* input, uint64_t input_bytes, char const* output,
    uint64_t output_bytes, uint64_t n, int64_t* submitting);
