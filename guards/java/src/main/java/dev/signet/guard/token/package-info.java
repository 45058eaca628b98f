/** Reads and verifies tokens. For the guard alone: it may change with any version. */
package dev.signet.guard.token;
