// Opens, runs and closes the messenger of the signed-in user.
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import { verifyEd25519 } from "@signet/canonical/ed25519"
import type { Messenger } from "@signet/client/messaging"
import { ClientEventSchema, type OpenRequest } from "@signet/proto/client/v1/messenger_service"
import { createMessengerWith } from "../../../core/messaging/create-messenger.ts"
import { MessagingError } from "../../../core/messaging/errors.ts"
import type { openEngine } from "../../../core/messaging/mls.ts"
import type { MessagingSession } from "../../../core/messaging/session.ts"
import type { HostBox } from "../boxes.ts"
import { clock } from "../clock.ts"
import { eventTo } from "../convert.ts"
import { ArgumentError } from "../failure.ts"
import { emit, output, random } from "../host.ts"
import { createHostStore, type HostStoreOptions } from "../store.ts"
import { createSuite } from "../suite.ts"
import { hostWire } from "../wire.ts"
import type { MessengerHolder } from "./messenger.ts"
import { checkRootKeys } from "./root-keys.ts"
import { createStoppable } from "./stoppable.ts"

interface HolderDeps {
  /** The sign-in of the messenger. @param audience Undefined for the auth service's own. */
  sessionFor(audience: string | undefined): Promise<MessagingSession>
  readonly box: HostBox
  readonly store: HostStoreOptions
  readonly platform: string
  readonly engineOnce: typeof openEngine
}

const mostKeyPackages = 100

export function createHolder(deps: HolderDeps): MessengerHolder {
  const { box } = deps
  let opened: Messenger | undefined
  let isOpening = false
  const following = createStoppable("Stop")
  const transfers = createStoppable("StopHistory")
  const storing = createStoppable("StopStoringBackup")

  async function openMessenger(
    { baseUrl, issuerRootKeys, refuseChangedKeys, keyPackages }: OpenRequest,
    session: MessagingSession,
  ) {
    const options = {
      messaging: { baseUrl, issuerRootKeys },
      session,
      transport: hostWire({ baseUrl }),
      store: createHostStore(deps.store),
      secretBox: box,
      clock,
      random: { bytes: random },
      whenKeysChange: refuseChangedKeys ? "refuse" : "warn",
      platform: deps.platform,
    } as const
    const suite = createSuite(box.signingBox)
    const messenger = await createMessengerWith(options, {
      ...{ suite, verify: verifyEd25519, openEngine: deps.engineOnce },
      ...(keyPackages > 0 && { keyPackageTarget: keyPackages }),
    })
    messenger.subscribe((event) => emitEvent(eventTo(event)))
    return messenger
  }

  return {
    ...{ following, transfers, storing },
    get messenger() {
      if (opened === undefined) throw new MessagingError("CLOSED", "the messenger is not open: call Open")
      return opened
    },
    async open(request) {
      checkRootKeys(request.issuerRootKeys)
      if (request.keyPackages > mostKeyPackages) throw new ArgumentError("key_packages must be at most 100")
      // First: a sign-out leaves the messenger open, and only another sign-in helps then.
      const session = await deps.sessionFor(request.audience || undefined)
      if (opened !== undefined || isOpening) throw new ArgumentError("the messenger is open: call Close before")
      isOpening = true
      try {
        opened = await openMessenger(request, session)
        return opened
      } finally {
        isOpening = false
      }
    },
    async close() {
      for (const running of [following, transfers, storing]) running.stop()
      const closing = opened
      opened = undefined
      await closing?.close()
    },
    onHistoryProgress({ transferId, chunks }) {
      emitEvent({ case: "historyProgress", value: { transferId, chunks: BigInt(chunks) } })
    },
    onProgress(conversationId, path, done, total) {
      const value = { conversationId, path, doneBytes: BigInt(done), totalBytes: BigInt(total) }
      emitEvent({ case: "progress", value })
    },
  }
}

export function emitEvent(event: MessageInitShape<typeof ClientEventSchema>["event"]): void {
  emit(output.EVENT, 0, toBinary(ClientEventSchema, create(ClientEventSchema, { event })))
}
