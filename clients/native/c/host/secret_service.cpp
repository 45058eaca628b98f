// Keys in the Secret Service of the desktop (GNOME Keyring, for one), by libsecret. It is loaded at the first use: a
// program without a desktop need not have it. Nothing here unlocks or prompts.
#include "box.h"

#ifdef __linux__

#include <dlfcn.h>
#include <libsecret/secret.h>

namespace signet {

namespace {

const SecretSchema kSchema = {
    "dev.signet.Keys", SECRET_SCHEMA_NONE, {{"app", SECRET_SCHEMA_ATTRIBUTE_STRING}, {"scope", SECRET_SCHEMA_ATTRIBUTE_STRING}},
    0, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};

Failure unavailable(const std::string &why) { return Failure(BoxFault::kUnavailable, why); }

// The functions of libsecret and GLib that are used here.
struct Library {
  void *handle = dlopen("libsecret-1.so.0", RTLD_NOW | RTLD_LOCAL);
  void *glib = dlopen("libglib-2.0.so.0", RTLD_NOW | RTLD_LOCAL);
  void *gobject = dlopen("libgobject-2.0.so.0", RTLD_NOW | RTLD_LOCAL);

  template <typename F>
  F *find(void *in, const char *name) {
    void *found = in == nullptr ? nullptr : dlsym(in, name);
    if (found == nullptr) throw unavailable("libsecret is not installed, or has no " + std::string(name));
    return reinterpret_cast<F *>(found);
  }
#define USE(library, name) decltype(::name) *name = find<decltype(::name)>(library, #name)
  USE(handle, secret_service_get_sync);
  USE(handle, secret_service_search_sync);
  USE(handle, secret_service_store_sync);
  USE(handle, secret_service_clear_sync);
  USE(handle, secret_collection_for_alias_sync);
  USE(handle, secret_collection_get_locked);
  USE(handle, secret_item_get_locked);
  USE(handle, secret_item_get_secret);
  USE(handle, secret_value_new);
  USE(handle, secret_value_get);
  USE(handle, secret_value_unref);
  USE(handle, secret_attributes_build);
  USE(glib, g_hash_table_unref);
  USE(glib, g_error_free);
  USE(glib, g_list_free);
  USE(gobject, g_object_unref);
#undef USE
};

class SecretServiceKeeper : public Keeper {
 public:
  std::optional<Bytes> read(const Scope &scope) override {
    const auto attributes = attributes_of(scope);
    GError *error = nullptr;
    GList *items = lib_.secret_service_search_sync(service(), &kSchema, attributes.get(), SECRET_SEARCH_LOAD_SECRETS, nullptr, &error);
    refuse(error);
    if (items == nullptr) {
      // A locked store may list nothing, and then the keys are not known to be missing.
      check_unlocked();
      return std::nullopt;
    }
    auto *item = static_cast<SecretItem *>(items->data);
    const bool locked = lib_.secret_item_get_locked(item) != 0;
    SecretValue *value = locked ? nullptr : lib_.secret_item_get_secret(item);
    std::optional<Bytes> kept;
    if (value != nullptr) {
      gsize length = 0;
      const char *bytes = lib_.secret_value_get(value, &length);
      kept = View(bytes, length).copy();
      lib_.secret_value_unref(value);
    }
    for (GList *at = items; at != nullptr; at = at->next) lib_.g_object_unref(at->data);
    lib_.g_list_free(items);
    if (locked) throw Failure(BoxFault::kLocked, "the credential store is locked: unlock it and try again");
    if (!kept) throw unavailable("the credential store does not return its item");
    return kept;
  }

  void write(const Scope &scope, View kept, bool) override {
    check_unlocked();
    const auto attributes = attributes_of(scope);
    SecretValue *value = lib_.secret_value_new(reinterpret_cast<const char *>(kept.data), static_cast<gssize>(kept.size),
                                               "application/octet-stream");
    GError *error = nullptr;
    const std::string label = "signet " + scope.app;
    lib_.secret_service_store_sync(service(), &kSchema, attributes.get(), SECRET_COLLECTION_DEFAULT, label.c_str(), value,
                                   nullptr, &error);
    lib_.secret_value_unref(value);
    refuse(error);
  }

  void remove(const Scope &scope) override {
    check_unlocked();
    const auto attributes = attributes_of(scope);
    GError *error = nullptr;
    lib_.secret_service_clear_sync(service(), &kSchema, attributes.get(), nullptr, &error);
    refuse(error);
  }

 private:
  using Attributes = std::unique_ptr<GHashTable, void (*)(GHashTable *)>;

  Attributes attributes_of(const Scope &scope) {
    const std::string text = scope.text();
    return Attributes(lib_.secret_attributes_build(&kSchema, "app", scope.app.c_str(), "scope", text.c_str(), nullptr),
                      lib_.g_hash_table_unref);
  }

  // Throws a failure of the service. Its text may name paths of the bus, but no secret.
  void refuse(GError *error) {
    if (error == nullptr) return;
    const std::string why = error->message;
    lib_.g_error_free(error);
    throw unavailable("the credential store does not answer: " + why);
  }

  SecretService *service() {
    if (service_ != nullptr) return service_;
    GError *error = nullptr;
    service_ = lib_.secret_service_get_sync(SECRET_SERVICE_OPEN_SESSION, nullptr, &error);
    refuse(error);
    return service_;
  }

  void check_unlocked() {
    GError *error = nullptr;
    SecretCollection *collection = lib_.secret_collection_for_alias_sync(
        service(), SECRET_COLLECTION_DEFAULT, SECRET_COLLECTION_NONE, nullptr, &error);
    refuse(error);
    if (collection == nullptr) throw unavailable("the credential store has no default collection");
    const bool locked = lib_.secret_collection_get_locked(collection) != 0;
    lib_.g_object_unref(collection);
    if (locked) throw Failure(BoxFault::kLocked, "the credential store is locked: unlock it and try again");
  }

  Library lib_;
  SecretService *service_ = nullptr;
};

}  // namespace

std::unique_ptr<Keeper> secret_service_keeper() { return std::make_unique<SecretServiceKeeper>(); }

}  // namespace signet

#else

namespace signet {

std::unique_ptr<Keeper> secret_service_keeper() {
  throw Failure(BoxFault::kUnavailable, "only Linux has a Secret Service");
}

}  // namespace signet

#endif
