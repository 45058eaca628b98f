package dev.signet.guard;

import java.util.Map;

/**
 * What a request says and what the service found for it. {@link Rule} reads it; build one by hand only for a transport
 * of your own.
 *
 * @param tenants the tenants that the request names, by {@link #tenantKey}
 * @param resources the resources that the request names, as found, by {@link #resourceKey}
 * @param jobId the job that the call is a part of; null where it is not known
 */
public record RequestFacts(Map<String, String> tenants, Map<String, ResourceRef> resources, String jobId) {

  /** What a request's tenants are keyed by. */
  public static String tenantKey(Requirement.Tenant check) {
    return check.from() + " " + check.field();
  }

  /** What a request's resources are keyed by. */
  public static String resourceKey(Requirement.ResourceAction check) {
    return check.type() + " " + check.from() + " " + check.field();
  }
}
