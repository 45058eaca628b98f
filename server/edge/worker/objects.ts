// The deployed object classes: the store's, with this program's dependencies. A class must keep its name, because its
// objects are found by it.
import type { PrincipalId } from "@signet/kernel/ids"
import type { ReceiptSigner } from "@signet/kernel/messaging/authority"
import type { BlobStore } from "@signet/kernel/messaging/ports"
import type { PushDecision, PushEndpoint } from "@signet/kernel/messaging/push"
import type { Place } from "@signet/kernel/messaging/records"
import { endDevicesOf } from "../../rpc/messaging/device/end-user.ts"
import { carryOutRevocations } from "../../rpc/messaging/device/revocation-effects.ts"
import { AttachmentObject as StoredAttachment } from "../../store/durable/attachment/object.ts"
import { ConversationObject as StoredConversation } from "../../store/durable/conversation/object.ts"
import { DeviceObject as StoredDevice } from "../../store/durable/device/object.ts"
import type { Effects } from "../../store/durable/effects.ts"
import { NameObject as StoredName } from "../../store/durable/name/object.ts"
import { PlaceObject as StoredPlace } from "../../store/durable/place/object.ts"
import { createDurableStore } from "../../store/durable/store.ts"
import { type Revoked, UserObject as StoredUser } from "../../store/durable/user/object.ts"
import { type Runtime, runtime } from "./runtime.ts"

export { CounterObject } from "../../store/durable/counter/object.ts"
export { FeedObject } from "./feed/object.ts"

/** The runtime with refreshed issuer keys: an object may be the first code that runs in its isolate. */
async function ready(): Promise<Runtime> {
  const opened = runtime()
  await opened.issuerKeys.look()
  return opened
}

export class ConversationObject extends StoredConversation {
  override async append(...of: Parameters<StoredConversation["append"]>): ReturnType<StoredConversation["append"]> {
    // Before the synchronous append, because the signer cannot wait.
    await ready()
    return super.append(...of)
  }

  protected override receiptSigner(): ReceiptSigner {
    return runtime().deps.signReceipt
  }

  protected override effects(): Effects {
    return runtime().auth.effects
  }
}

export class DeviceObject extends StoredDevice {
  protected override async push(endpoint: PushEndpoint): Promise<PushDecision> {
    return (await ready()).pushes?.push(endpoint) ?? { is: "delete" }
  }

  protected override async keepsPush(endpoint: PushEndpoint): Promise<boolean> {
    return (await ready()).pushes?.keeps(endpoint) ?? false
  }

  protected override effects(): Effects {
    return runtime().auth.effects
  }
}

export class UserObject extends StoredUser {
  protected override blobs(): Pick<BlobStore, "delete"> {
    return runtime().deps.blobs
  }

  protected override async carryOut(revoked: readonly Revoked[]): Promise<void> {
    const { deps } = await ready()
    await carryOutRevocations({ ...deps, store: createDurableStore(this.env, { due: async () => revoked }) })
  }

  protected override async endDevices(userId: PrincipalId, place: Place): Promise<void> {
    const { deps } = await ready()
    await endDevicesOf(deps, userId, place)
  }

  protected override effects(): Effects {
    return runtime().auth.effects
  }
}

export class NameObject extends StoredName {
  protected override effects(): Effects {
    return runtime().auth.effects
  }
}

export class AttachmentObject extends StoredAttachment {
  protected override blobs(): Pick<BlobStore, "delete"> {
    return runtime().deps.blobs
  }

  protected override effects(): Effects {
    return runtime().auth.effects
  }
}

export class PlaceObject extends StoredPlace {
  protected override effects(): Effects {
    return runtime().auth.effects
  }
}
