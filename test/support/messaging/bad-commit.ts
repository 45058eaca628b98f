import { randomBytes } from "node:crypto"
import { closed, opened } from "../../../clients/core/messaging/engine/state.ts"
import type { TestDevice } from "./device.ts"
import type { Room } from "./room.ts"

/** Another commit than the members can follow: its secrets are not those of the group. The service cannot see that. */
export async function commitBadly(device: TestDevice, room: Room): Promise<void> {
  const inside = opened(room.state)
  const epochSecrets = { ...inside.epochSecrets, init: new Uint8Array(randomBytes(32)) }
  room.state = closed({ ...inside, epochSecrets })
  await device.append(await device.stageUpdate(room))
}
