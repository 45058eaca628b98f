#include "SignetModule.h"

#include "host_objects.h"

namespace facebook::react {

SignetModule::SignetModule(std::shared_ptr<CallInvoker> jsInvoker) : NativeSignetCxxSpec(std::move(jsInvoker)) {}

jsi::Object SignetModule::core(jsi::Runtime &runtime) { return signet::make_core(runtime, jsInvoker_); }

}  // namespace facebook::react
