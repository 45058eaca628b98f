// Keys in a file of the data folder that another key wraps: of the program, such as in the Android Keystore, or of the system.
#include "box.h"
#include "wire.h"

namespace signet {

namespace {

constexpr uint32_t kFormat = 1, kLastFault = 10;

// A file: number 1 is the format, 7 entries of scope and wrapped keys, 8 the backend.
struct File {
  std::map<std::string, Bytes> entries;

  // Throws Failure and Malformed.
  static File parse(View bytes, const std::string &backend) {
    File file;
    uint64_t format = 0;
    std::string written;
    for (Reader in(bytes); in.next();) {
      switch (in.field()) {
        case 1: format = in.number(); break;
        case 7: {
          std::string scope;
          Bytes wrapped;
          for (Reader entry(in.bytes()); entry.next();) {
            if (entry.field() == 1) scope = entry.text();
            if (entry.field() == 2) wrapped = entry.bytes().copy();
          }
          file.entries[scope] = wrapped;
          break;
        }
        case 8: written = in.text(); break;
      }
    }
    if (format > kFormat) throw Failure(BoxFault::kNewer, "a later version of this program wrote the keys");
    if (written != backend) throw Failure(BoxFault::kChanged, "another secret box wrote the keys");
    if (format != kFormat) throw Malformed();
    return file;
  }

  Bytes format(const std::string &backend) const {
    Writer out;
    out.number(1, kFormat).bytes(8, View(backend));
    for (const auto &[scope, wrapped] : entries) out.message(7, Writer().bytes(1, View(scope)).bytes(2, wrapped));
    return out.take();
  }
};

signet_value text(const std::string &value) {
  return {SIGNET_TEXT, 0, reinterpret_cast<const uint8_t *>(value.data()), value.size()};
}
signet_value bytes(View value) { return {SIGNET_BYTES, 0, value.data, value.size}; }
signet_value number(double value) { return {SIGNET_NUMBER, value, nullptr, 0}; }

class WrappedKeeper : public Keeper {
 public:
  WrappedKeeper(std::string backend, std::unique_ptr<Wrapping> wrapping, KeysFile file)
      : backend_(std::move(backend)), wrapping_(std::move(wrapping)), file_(std::move(file)) {}

  std::optional<Bytes> read(const Scope &scope) override {
    const File file = load();
    const std::string name = scope.text();
    const auto found = file.entries.find(name);
    if (found == file.entries.end()) return std::nullopt;
    return wrapping_->unwrap(name, found->second);
  }

  // The wrapping key exists before the file names it: a key that no file names is replaced by the next first one.
  void write(const Scope &scope, View kept, bool) override {
    File file = load();
    const std::string name = scope.text();
    const bool is_first = file.entries.count(name) == 0;
    file.entries[name] = wrapping_->wrap(name, kept, is_first);
    file_.write(file.format(backend_));
  }

  void remove(const Scope &scope) override {
    File file = load();
    const std::string name = scope.text();
    wrapping_->forget(name);
    if (file.entries.erase(name) > 0) file_.write(file.format(backend_));
  }

 private:
  File load() {
    const std::optional<Bytes> stored = file_.read();
    if (!stored) return {};
    try {
      return File::parse(*stored, backend_);
    } catch (const Malformed &) {
      throw Failure(BoxFault::kTampered, "the file of keys is no such file");
    }
  }

  const std::string backend_;
  const std::unique_ptr<Wrapping> wrapping_;
  const KeysFile file_;
};

class ProgramWrapping : public Wrapping {
 public:
  explicit ProgramWrapping(const signet_host &host) : host_(host) {}

  Bytes wrap(const std::string &scope, View keys, bool is_first) override {
    return ask(SIGNET_BOX_WRAP, {text(scope), bytes(keys), number(is_first ? 1 : 0)});
  }
  Bytes unwrap(const std::string &scope, View wrapped) override {
    return ask(SIGNET_BOX_UNWRAP, {text(scope), bytes(wrapped)});
  }
  void forget(const std::string &scope) override { ask(SIGNET_BOX_FORGET, {text(scope)}); }

 private:
  // Throws Failure.
  Bytes ask(int32_t primitive, const std::vector<signet_value> &arguments) {
    signet_value answer{};
    const int32_t done = host_.primitive(host_.context, primitive, arguments.data(), arguments.size(), &answer);
    if (done == SIGNET_HOST_ANSWER && answer.kind == SIGNET_NUMBER && answer.number >= 1 && answer.number <= kLastFault) {
      throw Failure(static_cast<BoxFault>(static_cast<uint32_t>(answer.number)), "the program's secret box refuses");
    }
    const bool is_bytes = answer.kind == SIGNET_BYTES && (answer.bytes != nullptr || answer.length == 0);
    const bool is_long_enough = primitive == SIGNET_BOX_FORGET || answer.length > 0;
    if (done == SIGNET_HOST_ANSWER && is_bytes && is_long_enough) return View(answer.bytes, answer.length).copy();
    throw Failure(BoxFault::kUnavailable, "the program's secret box does not answer");
  }

  const signet_host host_;
};

}  // namespace

std::unique_ptr<Keeper> wrapped_keeper(std::string backend, std::unique_ptr<Wrapping> wrapping, KeysFile file) {
  return std::make_unique<WrappedKeeper>(std::move(backend), std::move(wrapping), std::move(file));
}

std::unique_ptr<Wrapping> program_wrapping(const signet_host *host) {
  if (host == nullptr || host->primitive == nullptr) {
    throw std::invalid_argument("wrapped_box needs a host with the primitives of the box");
  }
  return std::make_unique<ProgramWrapping>(*host);
}

}  // namespace signet
