// The TurboModule "Signet". React Native's autolinking finds the class by the name of this file.
#pragma once

#if __has_include(<SignetSpecJSI.h>)
#include <SignetSpecJSI.h>
#else
#include <SignetSpec/SignetSpecJSI.h>
#endif

namespace facebook::react {

class SignetModule : public NativeSignetCxxSpec<SignetModule> {
 public:

  explicit SignetModule(std::shared_ptr<CallInvoker> jsInvoker);

  // The object of signet::make_core().
  jsi::Object core(jsi::Runtime &runtime);
};

}  // namespace facebook::react
