// Keys in a file that Argon2id (RFC 9106) derives the key of. Chosen explicitly only.
#include "box.h"
#include "wire.h"

namespace signet {

namespace {

constexpr uint32_t kFormat = 1, kMemoryKib = 65536, kPasses = 3, kLanes = 1;
constexpr size_t kSaltBytes = 16, kMaxMemoryKib = 4194304;
const BoxInfo kBox{"passphrase", 1, false, false, true};
const std::string kWhole = "[null,\"signet\",null,null]";

// A file: numbers 1 to 4 are format, memory, passes and lanes; 5 salt, 6 canary, 7 entries of scope and sealed keys.
struct File {
  uint64_t memory_kib = kMemoryKib, passes = kPasses, lanes = kLanes;
  Bytes salt, canary;
  std::map<std::string, Bytes> entries;

  // Every entry authenticates the parameters.
  std::string purpose(const std::string &what) const {
    return what + " argon2id " + std::to_string(memory_kib) + "," + std::to_string(passes) + "," +
           std::to_string(lanes) + " " + View(salt).text();
  }
  static File parse(View bytes);
  Bytes format() const;
};

File File::parse(View bytes) {
  File file;
  uint64_t format = 0;
  for (Reader in(bytes); in.next();) {
    switch (in.field()) {
      case 1: format = in.number(); break;
      case 2: file.memory_kib = in.number(); break;
      case 3: file.passes = in.number(); break;
      case 4: file.lanes = in.number(); break;
      case 5: file.salt = in.bytes().copy(); break;
      case 6: file.canary = in.bytes().copy(); break;
      case 7: {
        std::string scope;
        Bytes sealed;
        for (Reader entry(in.bytes()); entry.next();) {
          if (entry.field() == 1) scope = entry.text();
          if (entry.field() == 2) sealed = entry.bytes().copy();
        }
        file.entries[scope] = sealed;
        break;
      }
    }
  }
  if (format > kFormat) throw Failure(BoxFault::kNewer, "a later version of this program wrote the keys");
  if (format != kFormat || file.salt.size() != kSaltBytes || file.memory_kib > kMaxMemoryKib) throw Malformed();
  return file;
}

Bytes File::format() const {
  Writer out;
  out.number(1, kFormat).number(2, memory_kib).number(3, passes).number(4, lanes).bytes(5, salt).bytes(6, canary);
  for (const auto &[scope, sealed] : entries) out.message(7, Writer().bytes(1, View(scope)).bytes(2, sealed));
  return out.take();
}

class PassphraseKeeper : public Keeper {
 public:
  PassphraseKeeper(Bytes passphrase, KeysFile file) : passphrase_(std::move(passphrase)), file_(std::move(file)) {}

  std::optional<Bytes> read(const Scope &scope) override {
    const std::optional<File> file = load();
    if (!file) return std::nullopt;
    const auto found = file->entries.find(scope.text());
    if (found == file->entries.end()) return std::nullopt;
    return open_bytes(kBox, key_, scope.text(), View(file->purpose("keys")), found->second);
  }

  void write(const Scope &scope, View kept, bool) override {
    std::optional<File> file = load();
    if (!file) file = create();
    file->entries[scope.text()] = seal_bytes(kBox, key_.front(), scope.text(), View(file->purpose("keys")), kept);
    file_.write(file->format());
  }

  void remove(const Scope &scope) override {
    std::optional<File> file = load();
    if (file && file->entries.erase(scope.text()) > 0) file_.write(file->format());
  }

 private:
  // Derives the key of the file's parameters, unless it is derived.
  void derive(const File &file) {
    const std::string name = file.purpose("key");
    if (!key_.empty() && derived_ == name) return;
    auto raw = crypto::argon2id(passphrase_, file.salt, static_cast<double>(file.memory_kib),
                                static_cast<double>(file.passes), static_cast<double>(file.lanes), crypto::kKeyBytes);
    if (!raw) throw Malformed();
    key_.clear();
    key_.emplace_back(*raw);
    derived_ = name;
  }

  File create() {
    File file;
    file.salt = crypto::random(kSaltBytes);
    derive(file);
    file.canary = seal_bytes(kBox, key_.front(), kWhole, View(file.purpose("canary")), View("signet passphrase"));
    return file;
  }

  // The file, whose key is derived and verified. Throws Failure.
  std::optional<File> load() {
    const std::optional<Bytes> bytes = file_.read();
    if (!bytes) return std::nullopt;
    try {
      File file = File::parse(*bytes);
      derive(file);
      open_bytes(kBox, key_, kWhole, View(file.purpose("canary")), file.canary);
      return file;
    } catch (const Malformed &) {
      throw Failure(BoxFault::kTampered, "the file of keys is no such file");
    } catch (const Failure &failure) {
      // Another key has another id, so the canary misses its key.
      if (failure.box != BoxFault::kChanged) throw;
      throw Failure(BoxFault::kWrongPassphrase, "the passphrase is wrong");
    }
  }

  Bytes passphrase_;
  KeysFile file_;
  std::vector<BoxKey> key_;
  std::string derived_;
};

}  // namespace

std::unique_ptr<Keeper> passphrase_keeper(Bytes passphrase, KeysFile file) {
  return std::make_unique<PassphraseKeeper>(std::move(passphrase), std::move(file));
}

}  // namespace signet
