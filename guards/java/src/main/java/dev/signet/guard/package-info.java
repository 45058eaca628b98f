/**
 * The guard: who is calling, and may they.
 *
 * <p>{@link dev.signet.guard.Guard} is what a service builds. Packages {@code grpc} and {@code servlet} put it before
 * handlers, {@code issuer} asks the issuer for keys, revocations and permissions. Packages {@code kernel} and
 * {@code token} are for these alone and may change with any version.
 */
package dev.signet.guard;
