package dev.signet.guard;

/**
 * A resource, as the service that owns it found it in its own store: never as a request describes it.
 *
 * @param type its type, as requirements name it
 * @param id its id
 * @param appId the app that it belongs to
 * @param tenantId null when it belongs to no tenant
 * @param contextId null when it belongs to no context
 */
public record ResourceRef(String type, String id, String appId, String tenantId, String contextId) {

  /** Looks a resource up in the store of the service that owns it. Called by many threads. */
  @FunctionalInterface
  public interface Finder {
    /** The resource, or null when there is none. */
    ResourceRef find(String type, String id);
  }
}
