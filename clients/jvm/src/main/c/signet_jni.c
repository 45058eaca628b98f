/* The functions of signet.h for dev.signet.client.Native. Bytes that cross are copied; each copy of this file is wiped. */
#define _DEFAULT_SOURCE
#include <jni.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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
  explicit_bzero(bytes->data, bytes->length);
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

static signet_client *client_of(jlong handle) { return (signet_client *)(uintptr_t)handle; }

JNIEXPORT jint JNICALL Java_dev_signet_client_Native_open(JNIEnv *env, jclass self, jbyteArray options, jlongArray handle,
                                                          jobjectArray failure) {
  (void)self;
  copy bytes = copy_of(env, options);
  if (bytes.data == NULL) return SIGNET_E_MEMORY;
  signet_client *client = NULL;
  signet_buf error = {0};
  const int32_t status = signet_open(SIGNET_ABI_VERSION, bytes.data, bytes.length, NULL, &client, &error);
  drop(&bytes);
  const jlong value = (jlong)(uintptr_t)client;
  (*env)->SetLongArrayRegion(env, handle, 0, 1, &value);
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
