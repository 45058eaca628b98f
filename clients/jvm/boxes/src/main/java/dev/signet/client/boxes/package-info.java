/** Secret boxes for desktops: data protection of Windows, and the Keychain of macOS. */
@NullMarked
package dev.signet.client.boxes;

import org.jspecify.annotations.NullMarked;
