// What crosses between JavaScript and the native side. Keys, group state, tokens and what is sealed have no type here:
// they never cross. All of it are types that React Native's code generator takes: bytes are base64, places in the log are
// decimal texts, since JavaScript's numbers end too early.

/** Names something that lives natively: an open messenger, a sign-in. Means nothing elsewhere, or after a restart. */
export type Handle = string

export interface NativeOptions {
  readonly baseUrl: string
  /** Public keys, 32 bytes each, in base64. */
  readonly issuerRootKeys: readonly string[]
  /** Of the native identity client: the refresh token stays there. */
  readonly session: Handle
  /** "warn" or "refuse": what becomes of a message to somebody whose keys are others than those that were compared. */
  readonly whenKeysChange: string
}

export interface NativePerson {
  readonly userId: string
  readonly deviceId: string
}

export interface NativeConversation {
  readonly id: string
  readonly status: string
  readonly isDirect: boolean
  readonly memberUserIds: readonly string[]
  readonly processedSeq: string
  /** "keyPackages" or "welcome", of a conversation that is "waiting". */
  readonly waitsFor?: string
  readonly asksConfirmation: boolean
  readonly quarantine?: { readonly reason: string; readonly seq: string; readonly evidence: string }
}

export interface NativeNewKey extends NativePerson {
  /** "newDevice" or "changedKey" */
  readonly what: string
  readonly wasVerified: boolean
}

export interface NativeEntry {
  readonly seq: string
  readonly atMs: number
  readonly is: string
  /** Of a message: who wrote it, and what. Of a reset: who began the new group, where that is known. */
  readonly from?: NativePerson
  readonly plaintext?: string
  readonly outboxId?: string
  /** Of an attachment, with `from`. */
  readonly fileName?: string
  readonly mediaType?: string
  readonly size?: number
  /** Of a membership. */
  readonly committer?: NativePerson
  readonly added?: readonly NativePerson[]
  readonly removed?: readonly NativePerson[]
  /** Of what is unreadable. */
  readonly reason?: string
  /** Of a gap. */
  readonly afterSeq?: string
  /** Of newKeys. */
  readonly devices?: readonly NativeNewKey[]
}

export interface NativeEvent {
  readonly handle: Handle
  readonly is: string
  readonly conversationId?: string
  readonly entry?: NativeEntry
  readonly status?: string
  readonly reason?: string
  readonly message?: string
  /** Of keysChanged. */
  readonly userId?: string
  /** Of queued and unsent. */
  readonly outboxId?: string
  /** Of keysChanged. */
  readonly deviceIds?: readonly string[]
}

export interface NativeDevice {
  readonly id: string
  readonly isThisOne: boolean
  readonly isRevoked: boolean
  readonly platform: string
  readonly createdAtMs: number
}

/**
 * The native module. A promise is rejected with `code`, one of the messenger's reasons or of a secret box, and a
 * `message` that holds no secret and no plaintext.
 */
export interface NativeMessenger {
  open(options: NativeOptions): Promise<{ readonly handle: Handle; readonly deviceId: string }>
  createDirectConversation(handle: Handle, peerUserId: string): Promise<NativeConversation>
  createGroupConversation(handle: Handle, memberUserIds: readonly string[]): Promise<NativeConversation>
  /** The ciphertext stays, too: `send` and `sync` send it. */
  encryptMessage(
    handle: Handle,
    conversationId: string,
    plaintext: string,
  ): Promise<{ readonly outboxId: string; readonly epoch: string }>
  /** @param envelope A signet.messaging.v1.Envelope. */
  processIncoming(
    handle: Handle,
    conversationId: string,
    envelope: string,
  ): Promise<{ readonly is: string; readonly entries: readonly NativeEntry[] }>
  addMembers(handle: Handle, conversationId: string, userIds: readonly string[]): Promise<void>
  removeMembers(handle: Handle, conversationId: string, userIds: readonly string[]): Promise<void>
  send(
    handle: Handle,
    conversationId: string,
    plaintext: string,
  ): Promise<{
    readonly outboxId: string
    /** Absent for a message that is queued. */
    readonly sent?: { readonly seq: string; readonly atMs: number }
  }>
  leave(handle: Handle, conversationId: string): Promise<void>
  rejoin(handle: Handle, conversationId: string): Promise<void>
  refreshKeys(handle: Handle, conversationId: string): Promise<void>
  conversations(handle: Handle): Promise<readonly NativeConversation[]>
  /** @param afterSeq Empty for all. */
  timeline(handle: Handle, conversationId: string, afterSeq: string, limit: number): Promise<readonly NativeEntry[]>
  devices(handle: Handle): Promise<readonly NativeDevice[]>
  revokeDevice(handle: Handle, deviceId: string): Promise<void>
  /** @returns The device from then on: another one where this one has ended. */
  startAnew(handle: Handle): Promise<{ readonly deviceId: string }>
  /** Sixty digits, computed natively: what people compare. */
  safetyNumber(handle: Handle, userId: string): Promise<string>
  sync(handle: Handle): Promise<void>
  /** Follows the service's hints until `stop`, and then resolves; rejects with what ended the device or the session. */
  run(handle: Handle): Promise<void>
  stop(handle: Handle): Promise<void>
  destroyLocalState(handle: Handle, confirm: string): Promise<void>
  close(handle: Handle): Promise<void>
  onEvent(listener: (event: NativeEvent) => void): { remove(): void }
}
