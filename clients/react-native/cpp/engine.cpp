#include "engine.h"

#include <pthread.h>

#include <system_error>

#include "wire.h"

namespace signet {

namespace {

// libsignet needs 4 MiB. A thread of iOS has 512 KiB by default.
constexpr size_t stack_bytes = 8u << 20;

// The id of the call that wakes the thread to close. JavaScript's ids are at least 1, and smaller.
constexpr uint64_t closing_call = (uint64_t{1} << 53) - 1;

std::mutex platform_mutex;
std::shared_ptr<Platform> platform_of_app;

Bytes take(signet_buf &buf) {
  Bytes bytes(buf.data, buf.data + buf.length);
  signet_buf_free(&buf);
  return bytes;
}

}  // namespace

void wipe(Bytes &bytes) {
  volatile uint8_t *at = bytes.data();
  for (size_t i = 0; i < bytes.size(); i++) at[i] = 0;
  bytes.clear();
}

void set_platform(std::shared_ptr<Platform> platform) {
  const std::lock_guard lock(platform_mutex);
  platform_of_app = std::move(platform);
}

std::shared_ptr<Platform> current_platform() {
  const std::lock_guard lock(platform_mutex);
  return platform_of_app;
}

Bytes host_failure(const std::string &reason, const std::string &message) {
  Bytes failure;
  put_number(failure, 1, 5);
  put_bytes(failure, 2, reason);
  put_bytes(failure, 3, message);
  return failure;
}

Engine::Engine(std::shared_ptr<Platform> platform, std::string account, Bytes identity, Sink sink)
    : platform_(std::move(platform)), account_(std::move(account)), identity_(std::move(identity)), sink_(std::move(sink)) {}

std::shared_ptr<Engine> Engine::start(std::shared_ptr<Platform> platform, std::string account, Bytes identity, Sink sink) {
  std::shared_ptr<Engine> engine(
      new Engine(std::move(platform), std::move(account), std::move(identity), std::move(sink)));
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  // The thread owns the engine while it runs.
  auto owner = std::make_unique<std::shared_ptr<Engine>>(engine);
  pthread_t thread;
  const int status = pthread_create(&thread, &attributes, main, owner.get());
  pthread_attr_destroy(&attributes);
  if (status != 0) throw std::system_error(status, std::generic_category(), "no thread for the client");
  owner.release();
  return engine;
}

void *Engine::main(void *self) {
  const std::unique_ptr<std::shared_ptr<Engine>> owner(static_cast<std::shared_ptr<Engine> *>(self));
  (*owner)->run();
  return nullptr;
}

void Engine::run() {
  signet_client *client = open();
  if (client != nullptr) {
    sink_({Kind::opened, 0, {}});
    work(client);
    {
      const std::lock_guard lock(mutex_);
      client_ = nullptr;
    }
    signet_close(client);
  }
  sink_({Kind::ended, 0, {}});
}

// Returns null, and emits why, if there is no client.
signet_client *Engine::open() {
  Bytes options;
  try {
    put_bytes(options, 1, identity_);
    Bytes platform = platform_->options(account_);
    options.insert(options.end(), platform.begin(), platform.end());
    wipe(platform);
  } catch (const std::exception &) {
    // The text of the app's own exception may have a secret.
    fail("HOST_REFUSED", "the app's native code has refused the account");
    return nullptr;
  }
  signet_client *client = nullptr;
  signet_buf error = {nullptr, 0};
  const int32_t status =
      signet_open(SIGNET_ABI_VERSION, options.data(), options.size(), platform_->host(account_), &client, &error);
  wipe(options);
  wipe(identity_);
  if (status != SIGNET_OK) {
    if (error.length > 0) sink_({Kind::failure, 0, take(error)});
    else fail("HOST_REFUSED", "libsignet does not open a client: status " + std::to_string(status));
    return nullptr;
  }
  signet_buf_free(&error);
  const std::lock_guard lock(mutex_);
  client_ = client;
  return client;
}

void Engine::work(signet_client *client) {
  while (!is_closing()) {
    int32_t kind = 0;
    uint64_t id = 0;
    signet_buf out = {nullptr, 0};
    const int32_t status = signet_next(client, -1, &kind, &id, &out);
    if (status == SIGNET_TIMEOUT) continue;
    if (status != SIGNET_OK) {
      if (out.length > 0) sink_({Kind::failure, 0, take(out)});
      else fail("STOPPED", "the core stopped: open the client again");
      return;
    }
    // No other kind crosses to JavaScript.
    const bool is_for_javascript = kind == SIGNET_REPLY || kind == SIGNET_REPLY_FAILURE || kind == SIGNET_EVENT;
    if (is_for_javascript && id != closing_call) sink_({static_cast<Kind>(kind), id, take(out)});
    signet_buf_free(&out);
  }
}

void Engine::fail(const std::string &reason, const std::string &message) {
  sink_({Kind::failure, 0, host_failure(reason, message)});
}

bool Engine::is_closing() {
  const std::lock_guard lock(mutex_);
  return closing_;
}

int32_t Engine::call(uint64_t id, const char *method, const uint8_t *request, size_t length) {
  const std::lock_guard lock(mutex_);
  if (client_ == nullptr || closing_) return SIGNET_E_HANDLE;
  return signet_call(client_, id, method, request, length);
}

void Engine::close() {
  const std::lock_guard lock(mutex_);
  if (closing_) return;
  closing_ = true;
  // An output ends the wait in signet_next(): here a refusal of an unknown method.
  if (client_ != nullptr) signet_call(client_, closing_call, "close", nullptr, 0);
}

}  // namespace signet
