/** Asks the issuer: for keys, revocations, permissions, and the service's own token. */
package dev.signet.guard.issuer;
