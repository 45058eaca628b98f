/**
 * Sign-in and end-to-end encrypted messaging. {@link dev.signet.client.SignetClient} opens the client; {@link
 * dev.signet.client.Identity} and {@link dev.signet.client.Messenger} are its calls. A reference may be null only where its
 * type says so.
 */
@NullMarked
package dev.signet.client;

import org.jspecify.annotations.NullMarked;
