// The objects that JavaScript has of libsignet. Each has the listed functions, and nothing else.
#pragma once

#include <ReactCommon/CallInvoker.h>
#include <jsi/jsi.h>

#include <memory>

namespace signet {

// An object with `open(account, identity, listener)`.
//
// account: names the data of a user of the app: 1 to 48 characters of [a-z0-9-].
// identity: ArrayBuffer of a signet.client.v1.IdentityOptions.
// listener: function of (kind, id, bytes), as Kind of engine.h.
//
// Returns an object with `call(id, method, request)`, which returns a status of signet.h, and `close()`.
facebook::jsi::Object make_core(facebook::jsi::Runtime &runtime, std::shared_ptr<facebook::react::CallInvoker> invoker);

}  // namespace signet
