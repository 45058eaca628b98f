/** The Signet client for the Java virtual machine. */
module dev.signet.client {
  requires static transitive org.jspecify;
  requires transitive com.google.protobuf;

  exports dev.signet.client;
  exports dev.signet.client.v1;
  exports dev.signet.host.v1;
}
