/** The client for Android: {@link dev.signet.client.android.SignetAndroid} configures it. */
@NullMarked
package dev.signet.client.android;

import org.jspecify.annotations.NullMarked;
