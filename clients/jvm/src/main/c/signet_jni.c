/* The functions of signet.h for dev.signet.client.Native. Bytes that cross are copied; each copy of this file is wiped. */
#define _DEFAULT_SOURCE
#include <jni.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/wipe.h"
#include "signet.h"

/* A Java array as bytes that this file owns. */
typedef struct {
  uint8_t *data;
  size_t length;
} copy;

static copy copy_of(JNIEnv *env, jbyteArray array) {
  copy out = {NULL, (size_t)(*env)->GetArrayLength(env, array)};
  /* Never NULL for an empty array: NULL is no memory. */
  out.data = malloc(out.length + 1);
  if (out.data == NULL) return out;
  (*env)->GetByteArrayRegion(env, array, 0, (jsize)out.length, (jbyte *)out.data);
  out.data[out.length] = 0;
  return out;
}

static void drop(copy *bytes) {
  signet_wipe(bytes->data, bytes->length);
  free(bytes->data);
}

/* Stores the bytes in slot 0, and frees them. False without memory: a Java exception is pending. */
static int give(JNIEnv *env, jobjectArray slot, signet_buf *bytes) {
  jbyteArray array = (*env)->NewByteArray(env, (jsize)bytes->length);
  if (array != NULL) {
    (*env)->SetByteArrayRegion(env, array, 0, (jsize)bytes->length, (const jbyte *)bytes->data);
    (*env)->SetObjectArrayElement(env, slot, 0, array);
    (*env)->DeleteLocalRef(env, array);
  }
  signet_buf_free(bytes);
  return array != NULL;
}

/* The program's secret box. Used on the client's thread alone. */
typedef struct {
  JavaVM *vm;
  jclass natives; /* dev.signet.client.Native */
  jobject box;
  jmethodID perform;
  copy answer;
} program_box;

static void free_box(JNIEnv *env, program_box *box) {
  if (box == NULL) return;
  if (box->answer.data != NULL) drop(&box->answer);
  if (box->natives != NULL) (*env)->DeleteGlobalRef(env, box->natives);
  if (box->box != NULL) (*env)->DeleteGlobalRef(env, box->box);
  free(box);
}

static program_box *new_box(JNIEnv *env, jclass natives, jobject box) {
  program_box *out = calloc(1, sizeof *out);
  if (out == NULL) return NULL;
  out->natives = (*env)->NewGlobalRef(env, natives);
  out->box = (*env)->NewGlobalRef(env, box);
  out->perform = (*env)->GetStaticMethodID(env, natives, "box", "(Ldev/signet/client/SecretBox;I[B[BZ)[B");
  if (out->natives != NULL && out->box != NULL && out->perform != NULL && (*env)->GetJavaVM(env, &out->vm) == JNI_OK) {
    return out;
  }
  free_box(env, out);
  return NULL;
}

/* A copy of the array, which is wiped. */
static copy take(JNIEnv *env, jbyteArray array) {
  copy out = copy_of(env, array);
  jbyte *elements = (*env)->GetByteArrayElements(env, array, NULL);
  if (elements == NULL) {
    (*env)->ExceptionClear(env);
    return out;
  }
  memset(elements, 0, out.length);
  (*env)->ReleaseByteArrayElements(env, array, elements, 0);
  return out;
}

static jbyteArray array_of(JNIEnv *env, const signet_value *value) {
  jbyteArray array = (*env)->NewByteArray(env, (jsize)value->length);
  if (array != NULL && value->length > 0) {
    (*env)->SetByteArrayRegion(env, array, 0, (jsize)value->length, (const jbyte *)value->bytes);
  }
  return array;
}

/* signet_host.primitive. Native.box() returns the number of a BoxFailure, or zero and bytes. */
static int32_t perform(void *context, int32_t primitive, const signet_value *arguments, size_t count, signet_value *answer) {
  if (primitive < SIGNET_BOX_WRAP || primitive > SIGNET_BOX_FORGET || count == 0) return SIGNET_HOST_DEFAULT;
  program_box *box = context;
  JNIEnv *env = NULL;
  if ((*box->vm)->GetEnv(box->vm, (void **)&env, JNI_VERSION_1_8) != JNI_OK) return SIGNET_HOST_ANSWER;
  if ((*env)->PushLocalFrame(env, 4) != 0) {
    (*env)->ExceptionClear(env);
    return SIGNET_HOST_ANSWER;
  }
  if (box->answer.data != NULL) drop(&box->answer);
  box->answer = (copy){NULL, 0};
  jbyteArray scope = array_of(env, &arguments[0]);
  jbyteArray bytes = scope == NULL || count < 2 ? NULL : array_of(env, &arguments[1]);
  const jboolean is_first = count > 2 && arguments[2].number == 1;
  jbyteArray given = NULL;
  if (!(*env)->ExceptionCheck(env)) {
    given = (*env)->CallStaticObjectMethod(env, box->natives, box->perform, box->box, primitive, scope, bytes, is_first);
  }
  /* Without memory, or an Error of the box. */
  if ((*env)->ExceptionCheck(env)) (*env)->ExceptionClear(env);
  else if (given != NULL) box->answer = take(env, given);
  (*env)->PopLocalFrame(env, NULL);
  if (box->answer.data == NULL || box->answer.length == 0) return SIGNET_HOST_ANSWER;
  const uint8_t failure = box->answer.data[0];
  if (failure != 0) *answer = (signet_value){SIGNET_NUMBER, failure, NULL, 0};
  else *answer = (signet_value){SIGNET_BYTES, 0, box->answer.data + 1, box->answer.length - 1};
  return SIGNET_HOST_ANSWER;
}

static signet_client *client_of(jlong handle) { return (signet_client *)(uintptr_t)handle; }

JNIEXPORT jint JNICALL Java_dev_signet_client_Native_open(JNIEnv *env, jclass self, jbyteArray options, jobject box,
                                                          jlongArray handle, jobjectArray failure) {
  program_box *own = NULL;
  if (box != NULL && (own = new_box(env, self, box)) == NULL) return SIGNET_E_MEMORY;
  const signet_host host = {sizeof host, own, perform};
  copy bytes = copy_of(env, options);
  if (bytes.data == NULL) {
    free_box(env, own);
    return SIGNET_E_MEMORY;
  }
  signet_client *client = NULL;
  signet_buf error = {0};
  const int32_t status = signet_open(SIGNET_ABI_VERSION, bytes.data, bytes.length, own == NULL ? NULL : &host, &client, &error);
  drop(&bytes);
  if (status != SIGNET_OK) {
    free_box(env, own);
    own = NULL;
  }
  const jlong values[2] = {(jlong)(uintptr_t)client, (jlong)(uintptr_t)own};
  (*env)->SetLongArrayRegion(env, handle, 0, 2, values);
  give(env, failure, &error);
  return status;
}

JNIEXPORT jint JNICALL Java_dev_signet_client_Native_call(JNIEnv *env, jclass self, jlong handle, jlong id,
                                                          jbyteArray method, jbyteArray request) {
  (void)self;
  copy name = copy_of(env, method);
  if (name.data == NULL) return SIGNET_E_MEMORY;
  copy bytes = copy_of(env, request);
  if (bytes.data == NULL) {
    drop(&name);
    return SIGNET_E_MEMORY;
  }
  const int32_t status =
      signet_call(client_of(handle), (uint64_t)id, (const char *)name.data, bytes.data, bytes.length);
  drop(&bytes);
  drop(&name);
  return status;
}

JNIEXPORT jint JNICALL Java_dev_signet_client_Native_next(JNIEnv *env, jclass self, jlong handle, jint timeout_ms,
                                                          jlongArray head, jobjectArray out) {
  (void)self;
  int32_t kind = 0;
  uint64_t id = 0;
  signet_buf bytes = {0};
  const int32_t status = signet_next(client_of(handle), timeout_ms, &kind, &id, &bytes);
  const jlong values[2] = {kind, (jlong)id};
  (*env)->SetLongArrayRegion(env, head, 0, 2, values);
  give(env, out, &bytes);
  return status;
}

JNIEXPORT jint JNICALL Java_dev_signet_client_Native_close(JNIEnv *env, jclass self, jlong handle) {
  (void)env;
  (void)self;
  return signet_close(client_of(handle));
}

/* After the last call of next(): the client has no other thread that performs primitives. */
JNIEXPORT void JNICALL Java_dev_signet_client_Native_releaseBox(JNIEnv *env, jclass self, jlong box) {
  (void)self;
  free_box(env, (program_box *)(uintptr_t)box);
}
