#include "effects.h"

#include <chrono>

#include "files.h"

namespace signet {

namespace {

constexpr int64_t kLockWaitMs = 30000;
constexpr int kLockPollMs = 20;
constexpr const char *kDpapi = "dpapi";

// signet.host.v1.Effect
enum Kind : uint32_t {
  kHttp = 1,
  kStoreRead = 2,
  kStoreList = 3,
  kStoreSpaces = 4,
  kStoreTransact = 5,
  kStorageRead = 6,
  kStorageWrite = 7,
  kStorageRemove = 8,
  kLockAcquire = 9,
  kLockRelease = 10,
  kBoxHold = 11,
  kBoxRelease = 12,
  kBoxRotate = 13,
  kBoxDestroy = 14,
  kFileRead = 15,
  kFileWrite = 16,
  kFileInfo = 17,
};

int64_t steady_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

Bytes done() { return Writer().message(13, Writer()).take(); }

Scope scope_of(View effect) {
  View scope;
  for (Reader in(effect); in.next();) {
    if (in.field() == 1) scope = in.bytes();
  }
  return Scope::parse(scope);
}

uint32_t box_of(View effect) {
  uint64_t box = 0;
  for (Reader in(effect); in.next();) {
    if (in.field() == 1) box = in.number();
  }
  return static_cast<uint32_t>(box);
}

Bytes hold(Box &box, View effect) {
  bool create = false;
  for (Reader in(effect); in.next();) {
    if (in.field() == 2) create = in.flag();
  }
  return Writer().message(10, Writer().number(1, box.hold(scope_of(effect), create))).take();
}

}  // namespace

Effects::Effects(Options &options, const signet_host *host) : http_(options.trust_anchors) {
  if (!options.data_folder.empty()) {
    folder_ = std::make_unique<Folder>(options.data_folder);
    lock_ = std::make_unique<os::File>(options.data_folder + "/lock", os::File::Use::kShare);
  }
  Folder *folder = folder_.get();
  const auto locked = [folder](const std::function<void()> &change) { folder == nullptr ? change() : folder->locked(change); };
  const KeysFile file{[folder] { return folder->read_keys(); }, [folder](View keys) { folder->write_keys(keys); }};
  if (options.box == BoxChoice::kPassphrase) {
    box_.emplace(BoxInfo{"passphrase", 1, false, false, true},
                 passphrase_keeper(std::move(options.passphrase), file), locked);
  } else if (options.box == BoxChoice::kWrapped) {
    const BoxInfo &info = options.program_box;
    box_.emplace(info, wrapped_keeper(info.backend, program_wrapping(host), file), locked);
  } else if (options.box == BoxChoice::kDpapi) {
    box_.emplace(BoxInfo{kDpapi, 1, false, false, true}, wrapped_keeper(kDpapi, dpapi_wrapping(), file), locked);
  } else if (options.box == BoxChoice::kSecretService) {
    box_.emplace(BoxInfo{"secret-service", 1, false, false, true}, secret_service_keeper(), locked);
  } else if (options.box == BoxChoice::kKeychain) {
    box_.emplace(BoxInfo{"keychain", 1, false, true, true}, keychain_keeper(std::move(options.keychain)), locked);
  }
}

Bytes Effects::fail(const Failure &failure) const {
  Writer out;
  out.number(1, static_cast<uint64_t>(failure.fault)).number(2, static_cast<uint64_t>(failure.box));
  out.bytes(3, View(std::string_view(failure.what())));
  return Writer().message(1, out).take();
}

// Returns the outcome, or nothing if it comes later.
Bytes Effects::perform(uint64_t id, uint32_t kind, View effect) {
  const bool is_stored = kind >= kStoreRead && kind <= kLockRelease;
  const bool is_boxed = kind >= kBoxHold && kind <= kBoxDestroy;
  if ((is_stored && !folder_) || (is_boxed && !box_)) throw Failure(Fault::kIo, "the program performs this effect");
  switch (kind) {
    case kHttp: http_.start(id, effect); return {};
    case kStoreRead: return folder_->store_read(effect);
    case kStoreList: return folder_->store_list(effect);
    case kStoreSpaces: return folder_->store_spaces();
    case kStoreTransact: return folder_->store_transact(effect);
    case kStorageRead: return folder_->storage_read(effect);
    case kStorageWrite: return folder_->storage_write(effect);
    case kStorageRemove: return folder_->storage_remove(effect);
    case kLockAcquire: waiting_.push_back({id, steady_ms() + kLockWaitMs}); return {};
    case kLockRelease:
      lock_->unlock();
      is_locked_ = false;
      return done();
    case kBoxHold: return hold(*box_, effect);
    case kBoxRelease: box_->release(box_of(effect)); return done();
    case kBoxRotate: box_->rotate(scope_of(effect)); return done();
    case kBoxDestroy: box_->destroy(scope_of(effect)); return done();
    case kFileRead: return file_read(effect);
    case kFileWrite: return file_write(effect);
    case kFileInfo: return file_info(effect);
    default: throw Failure(Fault::kIo, "the library does not know this effect");
  }
}

void Effects::start(uint64_t id, View effect) {
  Bytes outcome;
  try {
    Reader in(effect);
    if (!in.next()) throw Malformed();
    outcome = perform(id, in.field(), in.bytes());
  } catch (const Failure &failure) {
    outcome = fail(failure);
  } catch (const std::exception &error) {
    outcome = fail(Failure(Fault::kIo, error.what()));
  }
  if (!outcome.empty()) done_.push_back({id, false, std::move(outcome)});
}

void Effects::cancel(uint64_t id) {
  for (auto at = waiting_.begin(); at != waiting_.end();) at = at->id == id ? waiting_.erase(at) : std::next(at);
  for (auto at = done_.begin(); at != done_.end();) at = at->id == id ? done_.erase(at) : std::next(at);
  http_.cancel(id);
}

void Effects::poll_lock() {
  if (waiting_.empty()) return;
  if (!is_locked_ && lock_->try_lock()) {
    is_locked_ = true;
    done_.push_back({waiting_.front().id, false, done()});
    waiting_.pop_front();
  } else if (steady_ms() > waiting_.front().until_ms) {
    done_.push_back({waiting_.front().id, false, fail(Failure(Fault::kLockBusy, "another process holds the lock"))});
    waiting_.pop_front();
  }
}

bool Effects::next(Http::Output &output) {
  poll_lock();
  if (done_.empty()) {
    for (Http::Output &one : http_.perform()) done_.push_back(std::move(one));
  }
  if (done_.empty()) return false;
  output = std::move(done_.front());
  done_.pop_front();
  return true;
}

int Effects::patience() const { return waiting_.empty() || is_locked_ ? -1 : kLockPollMs; }

}  // namespace signet
