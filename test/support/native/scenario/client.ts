// The steps that each platform's library offers to the scenario. Arguments and answers are texts, for other languages.

/** Each function is one step. An error has `reason`. */
export interface ScenarioClient {
  /** @returns The user's id. */
  signIn(nonce: string, idToken: string): Promise<string>
  /** @returns The device's id. */
  openMessenger(): Promise<string>
  /** @returns The conversation's id. */
  createDirect(userId: string): Promise<string>
  createGroup(...userIds: string[]): Promise<string>
  add(conversationId: string, userId: string): Promise<void>
  remove(conversationId: string, userId: string): Promise<void>
  send(conversationId: string, text: string): Promise<void>
  sync(): Promise<void>
  /** @returns The texts of the timeline. */
  read(conversationId: string): Promise<string[]>
  /** @returns The ids of the members. */
  members(conversationId: string): Promise<string[]>
  renewKeys(conversationId: string): Promise<void>
  /** @returns The sequence number of the message. */
  sendFile(conversationId: string, path: string): Promise<string>
  saveFile(conversationId: string, seq: string, path: string): Promise<void>
  /** @returns The safety number with the user. */
  safetyNumber(userId: string): Promise<string>
  /** @returns The status. */
  markVerified(userId: string, compared: string): Promise<string>
  showQr(userId: string): Promise<string>
  /** @returns The status. */
  scan(userId: string, scanned: string): Promise<string>
  requestHistory(): Promise<string>
  grantHistory(scanned: string): Promise<void>
  runHistory(): Promise<void>
  /** @returns The recovery key. */
  backUp(path: string): Promise<string>
  /** @returns The number of imported entries. */
  recover(path: string, recoveryKey: string): Promise<string>
  signOut(): Promise<void>
}

export type StepName = keyof ScenarioClient

/** True for each step: the compiler refuses a list that lacks one. */
const steps: Readonly<Record<StepName, true>> = {
  ...{ signIn: true, openMessenger: true, createDirect: true, createGroup: true, add: true, remove: true, send: true },
  ...{ sync: true, read: true, members: true, renewKeys: true, sendFile: true, saveFile: true, safetyNumber: true },
  ...{ markVerified: true, showQr: true, scan: true, requestHistory: true, grantHistory: true, runHistory: true },
  ...{ backUp: true, recover: true, signOut: true },
}
export const stepNames: readonly string[] = Object.keys(steps).sort()

/** The client of another user, which the test runs in Node. */
export type PeerClient = Omit<ScenarioClient, "signIn" | "signOut" | "openMessenger" | "backUp" | "recover">

/** The settings of a device of a platform. */
export interface DeviceOptions {
  /** The device's data. Its parent exists. */
  readonly folder: string
  readonly appId: string
  readonly authUrl: string
  readonly messagingUrl: string
  readonly audience: string
  /** In hexadecimal. */
  readonly rootKey: string
}

/** A device in a process of its own, or in a page. */
export interface Device {
  /** Runs a step. @throws Error with `reason` */
  step(name: StepName, args: readonly string[]): Promise<unknown>
  /** Ends the process without `close`, or crashes the page. */
  kill(): Promise<void>
}

export interface ScenarioPlatform {
  /** Why the platform does not run here; undefined if it does. */
  readonly why: string | undefined
  /**
   * Builds what the devices run.
   *
   * @param whenDone Registers what ends after the devices, last one first.
   * @returns A function that starts a device. The same folder is the same device.
   */
  build(whenDone: (end: () => Promise<void>) => void): Promise<(options: DeviceOptions) => Promise<Device>>
}

/** Runs a step of an object's. @throws Error if the platform lacks the step. */
export async function stepOf(
  client: Partial<ScenarioClient>,
  name: StepName,
  args: readonly string[],
): Promise<unknown> {
  const step = client[name] as ((...args: readonly string[]) => Promise<unknown>) | undefined
  if (step === undefined) throw new Error(`the platform lacks the step "${name}"`)
  return step(...args)
}

/** The place of a step's path among its arguments. */
const paths: Partial<Record<StepName, number>> = { sendFile: 1, saveFile: 2, backUp: 0, recover: 0 }

/** The path among the arguments of a step, if it has one. */
export const pathOf = (name: StepName, args: readonly string[]): string | undefined => args[paths[name] ?? args.length]
