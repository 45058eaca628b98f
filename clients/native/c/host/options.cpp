#include "options.h"

namespace signet {

namespace {

constexpr uint64_t kMaxMemoryMib = 512, kMinMemoryMib = 4;
// Fields of Effect: of the data folder, and of the secret box.
constexpr uint64_t kFirstStored = 2, kLastStored = 10, kFirstBox = 11, kLastBox = 14;
constexpr uint64_t kPrimitive = 18, kAccessToken = 21;

BoxInfo parse_box(View message) {
  BoxInfo box{"", 0, false, false, false};
  for (Reader in(message); in.next();) {
    switch (in.field()) {
      case 1: box.backend = in.text(); break;
      case 2: box.version = static_cast<uint8_t>(in.number()); break;
      case 3: box.hardware = in.flag(); break;
      case 4: box.device_bound = in.flag(); break;
      case 5: box.persistent = in.flag(); break;
    }
  }
  if (box.backend.empty() || box.version == 0) throw std::invalid_argument("a box of the program needs a backend and a version");
  return box;
}

KeychainOptions parse_keychain(View message) {
  KeychainOptions keychain;
  for (Reader in(message); in.next();) {
    if (in.field() == 1) keychain.after_first_unlock = in.flag();
    if (in.field() == 2) keychain.access_group = in.text();
  }
  return keychain;
}

Bytes parse_passphrase(View message) {
  Bytes passphrase;
  for (Reader in(message); in.next();) {
    if (in.field() == 1) passphrase = in.bytes().copy();
  }
  if (passphrase.empty()) throw std::invalid_argument("the passphrase is empty");
  return passphrase;
}

void check(const Options &options) {
  if (options.box == BoxChoice::kNone) {
    throw std::invalid_argument("box is required: secret_service, passphrase, program_box, wrapped_box, keychain or dpapi");
  }
  const bool is_in_folder =
      options.box == BoxChoice::kPassphrase || options.box == BoxChoice::kWrapped || options.box == BoxChoice::kDpapi;
  if (is_in_folder && options.data_folder.empty()) {
    throw std::invalid_argument("the boxes passphrase, wrapped_box and dpapi need data_folder");
  }
  if (options.memory_limit_mib < kMinMemoryMib || options.memory_limit_mib > kMaxMemoryMib) {
    throw std::invalid_argument("memory_limit_mib must be between 4 and 512");
  }
  for (uint64_t effect = kFirstStored; effect <= kLastStored && options.data_folder.empty(); effect++) {
    if (options.performs.count(effect) == 0) {
      throw std::invalid_argument("data_folder is required, unless the program performs effects 2 to 10");
    }
  }
  for (uint64_t effect = kFirstBox; effect <= kLastBox && options.box == BoxChoice::kProgram; effect++) {
    if (options.performs.count(effect) == 0) {
      throw std::invalid_argument("with program_box the program must perform effects 11 to 14");
    }
  }
  if (options.session && options.performs.count(kAccessToken) == 0) {
    throw std::invalid_argument("with session the program must perform effect 21");
  }
  if (!options.deferred.empty() && options.performs.count(kPrimitive) == 0) {
    throw std::invalid_argument("with deferred the program must perform effect 18");
  }
}

}  // namespace

Options Options::parse(View message) {
  Options options;
  for (Reader in(message); in.next();) {
    switch (in.field()) {
      case 1: options.identity = in.bytes().copy(); break;
      case 2: options.data_folder = in.text(); break;
      case 3:
        in.bytes();
        options.box = BoxChoice::kSecretService;
        break;
      case 4:
        options.passphrase = parse_passphrase(in.bytes());
        options.box = BoxChoice::kPassphrase;
        break;
      case 5:
        options.program_box = parse_box(in.bytes());
        options.box = BoxChoice::kProgram;
        break;
      case 6: {
        std::vector<uint64_t> effects;
        in.numbers(effects);
        options.performs.insert(effects.begin(), effects.end());
        break;
      }
      case 7: options.trust_anchors = in.text(); break;
      case 8:
        if (in.number() != 0) options.memory_limit_mib = in.number();
        break;
      case 9: options.platform = in.text(); break;
      case 10:
        options.program_box = parse_box(in.bytes());
        options.box = BoxChoice::kWrapped;
        break;
      case 11:
        options.keychain = parse_keychain(in.bytes());
        options.box = BoxChoice::kKeychain;
        break;
      case 12:
        in.bytes();
        options.box = BoxChoice::kDpapi;
        break;
      case 13: options.session = in.bytes().copy(); break;
      case 14: in.numbers(options.deferred); break;
    }
  }
  check(options);
  return options;
}

}  // namespace signet
