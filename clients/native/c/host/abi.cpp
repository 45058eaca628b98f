// The functions of signet.h. No exception leaves them.
#include <map>
#include <memory>
#include <thread>

#include "client.h"

namespace {

using signet::Bytes;
using signet::Client;
using signet::View;

constexpr uint64_t kMaxId = (uint64_t{1} << 53) - 1;
constexpr size_t kMaxBytes = size_t{64} << 20, kMaxMethod = 256;

// Open clients by handle. A handle is never used twice.
std::mutex table_mutex;
uintptr_t last_handle = 0;
std::map<uintptr_t, std::shared_ptr<Client>> &table() {
  // Never destroyed: a thread may still be in the library when the process exits.
  static auto *const clients = new std::map<uintptr_t, std::shared_ptr<Client>>;
  return *clients;
}

std::shared_ptr<Client> find(signet_client *handle) {
  const std::lock_guard<std::mutex> lock(table_mutex);
  const auto found = table().find(reinterpret_cast<uintptr_t>(handle));
  return found == table().end() ? nullptr : found->second;
}

signet_client *add(std::shared_ptr<Client> client) {
  const std::lock_guard<std::mutex> lock(table_mutex);
  // Odd, so that it is no address.
  const uintptr_t handle = (last_handle += 2) | 1;
  table()[handle] = std::move(client);
  return reinterpret_cast<signet_client *>(handle);
}

// Returns false without memory.
bool give(signet_buf *buf, View bytes) {
  *buf = {nullptr, 0};
  if (bytes.empty()) return true;
  buf->data = static_cast<uint8_t *>(malloc(bytes.size));
  if (buf->data == nullptr) return false;
  memcpy(buf->data, bytes.data, bytes.size);
  buf->length = bytes.size;
  return true;
}

int32_t refuse(signet_buf *error, int32_t status, uint64_t kind, const char *reason, const char *message) {
  if (error == nullptr) return status;
  try {
    give(error, signet::client_failure(kind, reason, message));
  } catch (...) {
  }
  return status;
}

// Runs the body of a function. Its exceptions become a status.
template <typename Body>
int32_t walled(Body body) {
  try {
    return body();
  } catch (...) {
    return SIGNET_E_MEMORY;
  }
}

bool is_bytes(const uint8_t *bytes, size_t length) { return length <= kMaxBytes && (bytes != nullptr || length == 0); }

int32_t queue(signet_client *client, const char *entry, uint64_t id, std::string_view method, const uint8_t *bytes,
              size_t length) {
  return walled([&] {
    const auto found = find(client);
    if (found == nullptr) return SIGNET_E_HANDLE;
    if (id > kMaxId || !is_bytes(bytes, length)) return SIGNET_E_ARGUMENT;
    return found->queue(entry, id, method, View(bytes, length));
  });
}

int32_t open_client(const uint8_t *options, size_t length, const signet_host *host, signet_client **out, signet_buf *error) {
  constexpr uint64_t kMessaging = 2, kSecretBox = 3, kInternal = 4;
  try {
    *out = add(std::make_shared<Client>(signet::Options::parse(View(options, length)), host));
    return SIGNET_OK;
  } catch (const signet::Malformed &malformed) {
    return refuse(error, SIGNET_E_ARGUMENT, kInternal, "INVALID_ARGUMENT", "options are no signet.host.v1.NativeOptions");
  } catch (const std::invalid_argument &invalid) {
    return refuse(error, SIGNET_E_ARGUMENT, kInternal, "INVALID_ARGUMENT", invalid.what());
  } catch (const signet::StartRefused &refused) {
    if (error != nullptr) give(error, refused.failure);
    return SIGNET_E_OPEN;
  } catch (const signet::Failure &failure) {
    if (failure.box == signet::BoxFault::kUnavailable) {
      return refuse(error, SIGNET_E_OPEN, kSecretBox, "SECURE_STORE_UNAVAILABLE", failure.what());
    }
    const bool is_newer = failure.box == signet::BoxFault::kNewer;
    return refuse(error, SIGNET_E_OPEN, kMessaging, is_newer ? "STATE_NEWER_VERSION" : "STORE_UNAVAILABLE", failure.what());
  } catch (const std::bad_alloc &) {
    return refuse(error, SIGNET_E_MEMORY, kInternal, "INTERNAL", "there is no memory for a client");
  } catch (const std::exception &failure) {
    return refuse(error, SIGNET_E_OPEN, kInternal, "INTERNAL", failure.what());
  } catch (...) {
    return refuse(error, SIGNET_E_OPEN, kInternal, "INTERNAL", "the client did not open");
  }
}

}  // namespace

extern "C" {

uint32_t signet_abi_version(void) { return SIGNET_ABI_VERSION; }

int32_t signet_open(uint32_t version, const uint8_t *options, size_t length, const signet_host *host,
                    signet_client **out, signet_buf *error) {
  if (error != nullptr) *error = {nullptr, 0};
  if (out == nullptr) return SIGNET_E_ARGUMENT;
  *out = nullptr;
  if (version == 0 || version > SIGNET_ABI_VERSION) {
    return refuse(error, SIGNET_E_VERSION, 4, "INVALID_ARGUMENT", "the library has version 1 of the interface");
  }
  if (!is_bytes(options, length) || (host != nullptr && host->size != sizeof(signet_host))) {
    return refuse(error, SIGNET_E_ARGUMENT, 4, "INVALID_ARGUMENT", "options are NULL, or host->size is not its size");
  }
  return open_client(options, length, host, out, error);
}

int32_t signet_call(signet_client *client, uint64_t id, const char *method, const uint8_t *request, size_t length) {
  const size_t name = method == nullptr ? 0 : strnlen(method, kMaxMethod + 1);
  if (id == 0 || name == 0 || name > kMaxMethod || !signet::is_utf8(View(method, name))) return SIGNET_E_ARGUMENT;
  return queue(client, "call", id, std::string_view(method, name), request, length);
}

int32_t signet_complete(signet_client *client, uint64_t id, const uint8_t *result, size_t length) {
  return queue(client, "complete", id, {}, result, length);
}

int32_t signet_push(signet_client *client, uint64_t id, const uint8_t *piece, size_t length) {
  return queue(client, "push", id, {}, piece, length);
}

int32_t signet_next(signet_client *client, int32_t timeout_ms, int32_t *kind, uint64_t *id, signet_buf *out) {
  if (kind == nullptr || id == nullptr || out == nullptr) return SIGNET_E_ARGUMENT;
  *kind = 0;
  *id = 0;
  *out = {nullptr, 0};
  return walled([&] {
    const auto found = find(client);
    if (found == nullptr) return SIGNET_E_HANDLE;
    signet::Output output{0, 0, {}};
    const int32_t status = found->next(timeout_ms, output);
    *kind = output.kind;
    *id = output.id;
    return give(out, output.bytes) ? status : SIGNET_E_MEMORY;
  });
}

void signet_buf_free(signet_buf *buf) {
  if (buf == nullptr) return;
  if (buf->data != nullptr) signet::wipe(buf->data, buf->length);
  free(buf->data);
  *buf = {nullptr, 0};
}

int32_t signet_close(signet_client *client) {
  return walled([&] {
    auto found = find(client);
    if (found == nullptr) return SIGNET_E_HANDLE;
    {
      const std::lock_guard<std::mutex> lock(table_mutex);
      // Of two threads that close at once, one does.
      if (table().erase(reinterpret_cast<uintptr_t>(client)) == 0) return SIGNET_E_HANDLE;
    }
    found->close();
    // A thread that leaves another function still holds the client: the memory is wiped when this function returns.
    while (found.use_count() > 1) std::this_thread::yield();
    return SIGNET_OK;
  });
}

}  // extern "C"
