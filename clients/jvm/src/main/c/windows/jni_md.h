/* What jni.h needs to know of Windows on x64: a JDK has this file for its own system only. */
#ifndef SIGNET_JNI_MD_H
#define SIGNET_JNI_MD_H

#define JNIEXPORT __declspec(dllexport)
#define JNIIMPORT __declspec(dllimport)
#define JNICALL

typedef int jint;
typedef long long jlong;
typedef signed char jbyte;

#endif
