/** Secret boxes of the Signet client for desktops. */
module dev.signet.client.boxes {
  requires static transitive org.jspecify;
  requires transitive dev.signet.client;
  requires com.sun.jna;

  exports dev.signet.client.boxes;
}
