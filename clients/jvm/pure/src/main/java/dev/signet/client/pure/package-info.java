/**
 * Runs the client's core without libsignet: its engine in Chicory, its cryptography in the JCA, its store in SQLite over JDBC.
 */
@NullMarked
package dev.signet.client.pure;

import org.jspecify.annotations.NullMarked;
