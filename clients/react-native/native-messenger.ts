// The types that cross between JavaScript and the native side. Keys, group state, tokens and sealed bytes never cross,
// so they have no type here. React Native's code generator supports all types: bytes are base64, sequence numbers are
// decimal texts, because JavaScript's numbers are too small.

/** Names a native object: an open messenger or a sign-in. Invalid elsewhere and after a restart. */
export type Handle = string

export interface NativeOptions {
  readonly baseUrl: string
  /** Public keys, 32 bytes each, in base64. */
  readonly issuerRootKeys: readonly string[]
  /** A handle of the native identity client: the refresh token stays there. */
  readonly session: Handle
  /** "warn" or "refuse": the treatment of a message to a user whose keys differ from the verified ones. */
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
  readonly blockedUserIds: readonly string[]
  readonly processedSeq: string
  /** "keyPackages" or "welcome", for a conversation that is "waiting". */
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
  /**
   * For a message: its author and content. For missing messages: their author. For a reset: the member who began the
   * new group, if known.
   */
  readonly from?: NativePerson
  readonly plaintext?: string
  readonly outboxId?: string
  /** For a message or an attachment. */
  readonly isLate?: boolean
  /** For a message or an attachment of a blocked user. */
  readonly isFromBlocked?: boolean
  /** For missing messages. */
  readonly count?: number
  /** For an attachment, with `from`. */
  readonly fileName?: string
  readonly mediaType?: string
  readonly size?: number
  /** For a membership change. */
  readonly committer?: NativePerson
  readonly added?: readonly NativePerson[]
  readonly removed?: readonly NativePerson[]
  /** For an unreadable message. */
  readonly reason?: string
  /** For a gap. */
  readonly afterSeq?: string
  /** For newKeys. */
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
  /** For keysChanged. */
  readonly userId?: string
  /** For queued and unsent. */
  readonly outboxId?: string
  /** For keysChanged. */
  readonly deviceIds?: readonly string[]
  /** For blockedUsers. */
  readonly userIds?: readonly string[]
}

export interface NativeDevice {
  readonly id: string
  readonly isThisOne: boolean
  readonly isRevoked: boolean
  readonly platform: string
  readonly createdAtMs: number
}

/**
 * The native module. A promise rejects with `code`, a reason of the messenger or of a secret box, and a `message`
 * without secrets and plaintext.
 */
export interface NativeMessenger {
  open(options: NativeOptions): Promise<{ readonly handle: Handle; readonly deviceId: string }>
  createDirectConversation(handle: Handle, peerUserId: string): Promise<NativeConversation>
  createGroupConversation(handle: Handle, memberUserIds: readonly string[]): Promise<NativeConversation>
  /** The ciphertext stays on the native side; `send` and `sync` send it. */
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
    /** Absent for a queued message. */
    readonly sent?: { readonly seq: string; readonly atMs: number }
  }>
  leave(handle: Handle, conversationId: string): Promise<void>
  rejoin(handle: Handle, conversationId: string): Promise<void>
  refreshKeys(handle: Handle, conversationId: string): Promise<void>
  conversations(handle: Handle): Promise<readonly NativeConversation[]>
  /** @param afterSeq Empty for the whole timeline. */
  timeline(handle: Handle, conversationId: string, afterSeq: string, limit: number): Promise<readonly NativeEntry[]>
  block(handle: Handle, userId: string): Promise<void>
  unblock(handle: Handle, userId: string): Promise<void>
  blockedUsers(handle: Handle): Promise<readonly string[]>
  devices(handle: Handle): Promise<readonly NativeDevice[]>
  revokeDevice(handle: Handle, deviceId: string): Promise<void>
  /** @returns The device afterwards: a new one if this one has ended. */
  startAnew(handle: Handle): Promise<{ readonly deviceId: string }>
  /** Sixty digits, computed natively, which users compare. */
  safetyNumber(handle: Handle, userId: string): Promise<string>
  sync(handle: Handle): Promise<void>
  /**
   * Follows the service's hints until `stop`, then resolves; rejects with the error that ended the device or session.
   */
  run(handle: Handle): Promise<void>
  stop(handle: Handle): Promise<void>
  destroyLocalState(handle: Handle, confirm: string): Promise<void>
  close(handle: Handle): Promise<void>
  onEvent(listener: (event: NativeEvent) => void): { remove(): void }
}
