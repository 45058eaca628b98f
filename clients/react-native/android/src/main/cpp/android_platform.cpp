// The platform of an Android app: the data folder and the origins of SignetProvider, and the box of SignetNative. Written, never
// run.
#include <jni.h>
#include <sys/stat.h>

#include <map>
#include <mutex>

#include "platform.h"
#include "wire.h"

namespace {

using signet::Bytes;

// NativeOptions.wrapped_box, and fields of ProgramBox.
constexpr uint32_t kDataFolder = 2, kPlatform = 9, kWrappedBox = 10;
constexpr int32_t kBoxWrap = 25, kBoxForget = 27;
constexpr int32_t kUnavailable = 1;

JavaVM *vm;
jclass natives;
jmethodID box_method;

// The thread of a client, attached while it runs.
JNIEnv *environment() {
  struct Attached {
    ~Attached() {
      if (is_own) vm->DetachCurrentThread();
    }
    bool is_own = false;
  };
  static thread_local Attached attached;
  JNIEnv *env = nullptr;
  if (vm->GetEnv(reinterpret_cast<void **>(&env), JNI_VERSION_1_6) == JNI_OK) return env;
  if (vm->AttachCurrentThread(&env, nullptr) != JNI_OK) return nullptr;
  attached.is_own = true;
  return env;
}

jbyteArray array_of(JNIEnv *env, const signet_value &value) {
  const auto array = env->NewByteArray(static_cast<jsize>(value.length));
  if (array != nullptr) {
    env->SetByteArrayRegion(array, 0, static_cast<jsize>(value.length), reinterpret_cast<const jbyte *>(value.bytes));
  }
  return array;
}

// The box of an account. Its client's thread alone uses it.
struct Box {
  explicit Box(std::string name) : account(std::move(name)), host{sizeof(signet_host), this, perform} {}
  Box(const Box &) = delete;

  static int32_t perform(void *context, int32_t primitive, const signet_value *arguments, size_t count, signet_value *answer) {
    if (primitive < kBoxWrap || primitive > kBoxForget || count == 0) return SIGNET_HOST_DEFAULT;
    *answer = {SIGNET_NUMBER, kUnavailable, nullptr, 0};
    static_cast<Box *>(context)->call(primitive, arguments, count, answer);
    return SIGNET_HOST_ANSWER;
  }

  void call(int32_t primitive, const signet_value *arguments, size_t count, signet_value *out) {
    signet::wipe(answer);
    JNIEnv *env = environment();
    if (env == nullptr || env->PushLocalFrame(8) != 0) return;
    const auto name = env->NewStringUTF(account.c_str());
    const auto scope = array_of(env, arguments[0]);
    const auto bytes = count > 1 ? array_of(env, arguments[1]) : nullptr;
    const jboolean is_first = count > 2 && arguments[2].number == 1;
    jobject given = nullptr;
    if (!env->ExceptionCheck()) {
      given = env->CallStaticObjectMethod(natives, box_method, name, primitive, scope, bytes, is_first);
    }
    if (env->ExceptionCheck()) env->ExceptionClear();
    else if (given != nullptr) take(env, static_cast<jbyteArray>(given));
    env->PopLocalFrame(nullptr);
    if (answer.empty()) return;
    if (answer[0] != 0) *out = {SIGNET_NUMBER, static_cast<double>(answer[0]), nullptr, 0};
    else *out = {SIGNET_BYTES, 0, answer.data() + 1, answer.size() - 1};
  }

  // Copies the array, and wipes it.
  void take(JNIEnv *env, jbyteArray array) {
    answer.resize(static_cast<size_t>(env->GetArrayLength(array)));
    const auto length = static_cast<jsize>(answer.size());
    env->GetByteArrayRegion(array, 0, length, reinterpret_cast<jbyte *>(answer.data()));
    const Bytes zeros(answer.size());
    env->SetByteArrayRegion(array, 0, length, reinterpret_cast<const jbyte *>(zeros.data()));
  }

  const std::string account;
  const signet_host host;
  // Valid until the next call: libsignet copies it.
  Bytes answer;
};

class AndroidPlatform : public signet::Platform {
 public:
  AndroidPlatform(std::string folder, std::vector<std::string> origins)
      : folder_(std::move(folder)), origins_(std::move(origins)) {}

  Bytes options(const std::string &account) override {
    Bytes box, options;
    signet::put_bytes(box, 1, "android-keystore");
    signet::put_number(box, 2, 1);
    signet::put_number(box, 4, 1);
    signet::put_number(box, 5, 1);
    signet::put_bytes(options, kDataFolder, folder_ + "/" + account);
    signet::put_bytes(options, kPlatform, "android");
    signet::put_bytes(options, kWrappedBox, box);
    return options;
  }
  std::string folder() override { return folder_; }
  std::vector<std::string> origins() override { return origins_; }
  const signet_host *host(const std::string &account) override {
    const std::lock_guard lock(mutex_);
    return &boxes_.try_emplace(account, account).first->second.host;
  }

 private:
  const std::string folder_;
  const std::vector<std::string> origins_;
  std::mutex mutex_;
  std::map<std::string, Box> boxes_;
};

std::string text_of(JNIEnv *env, jstring text) {
  const char *chars = env->GetStringUTFChars(text, nullptr);
  std::string out(chars == nullptr ? "" : chars);
  if (chars != nullptr) env->ReleaseStringUTFChars(text, chars);
  return out;
}

}  // namespace

extern "C" JNIEXPORT void JNICALL Java_dev_signet_reactnative_SignetNative_start(JNIEnv *env, jclass self, jstring folder,
                                                                                jobjectArray origins) {
  env->GetJavaVM(&vm);
  natives = static_cast<jclass>(env->NewGlobalRef(self));
  box_method = env->GetStaticMethodID(self, "box", "(Ljava/lang/String;I[B[BZ)[B");
  if (natives == nullptr || box_method == nullptr) return;
  std::vector<std::string> all;
  for (jsize i = 0; i < env->GetArrayLength(origins); i++) {
    all.push_back(text_of(env, static_cast<jstring>(env->GetObjectArrayElement(origins, i))));
  }
  signet::set_platform(std::make_shared<AndroidPlatform>(text_of(env, folder), std::move(all)));
}
