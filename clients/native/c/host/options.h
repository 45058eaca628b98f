// signet.host.v1.NativeOptions
#pragma once

#include <set>

#include "box.h"
#include "wire.h"

namespace signet {

enum class BoxChoice { kNone, kSecretService, kPassphrase, kProgram, kWrapped, kKeychain, kDpapi };

struct Options {
  Bytes identity; /* a signet.client.v1.IdentityOptions */
  std::string data_folder, trust_anchors, platform;
  BoxChoice box = BoxChoice::kNone;
  Bytes passphrase;
  BoxInfo program_box;
  KeychainOptions keychain;
  std::set<uint64_t> performs; /* fields of Effect */
  std::optional<Bytes> session; /* a HostSession */
  std::vector<uint64_t> deferred;
  uint64_t memory_limit_mib = 256;

  // Throws Malformed, and std::invalid_argument with a text for the developer.
  static Options parse(View message);
};

}  // namespace signet
