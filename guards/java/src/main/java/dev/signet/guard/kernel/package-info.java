/** Rules without a clock, a store or a network. For the guard alone: it may change with any version. */
package dev.signet.guard.kernel;
