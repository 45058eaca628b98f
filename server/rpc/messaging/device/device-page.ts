import type { DeviceId } from "@signet/kernel/ids"
import type { MessagingDevice } from "@signet/kernel/messaging/records"
import { pageAsked, pageFound } from "../../page.ts"
import type { MessagingDeps } from "../deps.ts"

/**
 * A page of one user's devices, newest first. The store returns all of them, because a user has few.
 *
 * @throws Refused INVALID_FIELD for a page token of another list.
 */
export function devicesFound(
  { secrets }: Pick<MessagingDeps, "secrets">,
  filter: readonly string[],
  request: { pageSize: number; pageToken: string },
  devices: readonly MessagingDevice[],
): { page: readonly MessagingDevice[]; nextPageToken: string } {
  const { size, before } = pageAsked(secrets, "dev", filter, request)
  const found = devices.filter((device) => before === null || isOlder(device, before)).slice(0, size)
  return pageFound(secrets, filter, request, found)
}

/** Newest first; devices of the same age by id. */
const isOlder = (device: MessagingDevice, than: { createdAtMs: number; id: DeviceId }): boolean =>
  device.createdAtMs < than.createdAtMs || (device.createdAtMs === than.createdAtMs && device.id < than.id)
