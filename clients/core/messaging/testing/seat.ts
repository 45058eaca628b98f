/** A member of a test group with any engine. Names are credentials. */
export interface Seat {
  readonly name: string
  /** A fresh key package; the seat remembers its secret until it joins. */
  keyPackage(): Promise<Uint8Array>
  create(groupId: Uint8Array): Promise<void>
  /** Commits, and counts the commit as accepted. */
  add(keyPackages: readonly Uint8Array[]): Promise<CommitMessages>
  remove(names: readonly string[]): Promise<CommitMessages>
  update(): Promise<CommitMessages>
  join(welcome: Uint8Array, tree: Uint8Array | undefined): Promise<void>
  /** @returns True if the seat is still a member. */
  process(commit: Uint8Array): Promise<boolean>
  encrypt(text: string): Promise<Uint8Array>
  decrypt(message: Uint8Array): Promise<{ readonly text: string; readonly sender: string }>
  /** The epoch authenticator in hexadecimal; undefined if the engine does not expose it. */
  authenticator(): string | undefined
  roster(): string[]
}

export interface CommitMessages {
  readonly commit: Uint8Array
  readonly welcome: Uint8Array | undefined
  readonly tree: Uint8Array | undefined
}

/** A group of seats that get all messages in order. */
export interface Room {
  readonly seats: ReadonlyMap<string, Seat>
  /** The removed seats, in their last state. */
  readonly gone: readonly Seat[]
  add(by: string, seats: readonly Seat[]): Promise<void>
  remove(by: string, names: readonly string[]): Promise<void>
  update(by: string): Promise<void>
  /** Sends one message. Every other member decrypts it and names its sender. */
  say(by: string, text: string): Promise<void>
}

/**
 * Opens a room. After every operation it checks that all members agree on epoch and roster, that all members decrypt
 * each message, and that removed members decrypt none.
 */
export async function openRoom(founder: Seat, groupId: Uint8Array): Promise<Room> {
  await founder.create(groupId)
  const seats = new Map([[founder.name, founder]])
  const gone: Seat[] = []
  const at = (name: string) => seats.get(name) ?? fail(`${name} is not in the room`)

  async function follow(by: string, { commit }: CommitMessages) {
    for (const seat of [...seats.values()]) {
      if (seat.name === by || (await seat.process(commit))) continue
      seats.delete(seat.name)
      gone.push(seat)
    }
  }

  function agree() {
    const told = [...seats.values()].map((seat) => seat.authenticator()).filter((tag) => tag !== undefined)
    if (new Set(told).size > 1) fail("members do not agree on the epoch")
    const rosters = [...seats.values()].map((seat) => seat.roster().sort().join())
    if (new Set(rosters).size > 1) fail("members do not agree on who is here")
    if (rosters[0] !== [...seats.keys()].sort().join()) fail("the roster is not who is here")
  }

  return {
    seats,
    gone,
    async add(by, joining) {
      const keyPackages: Uint8Array[] = []
      for (const seat of joining) keyPackages.push(await seat.keyPackage())
      const messages = await at(by).add(keyPackages)
      await follow(by, messages)
      for (const seat of joining) {
        await seat.join(messages.welcome ?? fail("no welcome"), messages.tree)
        seats.set(seat.name, seat)
      }
      agree()
    },
    async remove(by, names) {
      await follow(by, await at(by).remove(names))
      if (names.some((name) => seats.has(name))) fail("a removed member is still here")
      agree()
    },
    async update(by) {
      await follow(by, await at(by).update())
      agree()
    },
    async say(by, text) {
      const message = await at(by).encrypt(text)
      for (const seat of seats.values()) {
        if (seat.name === by) continue
        const read = await seat.decrypt(message)
        if (read.text !== text || read.sender !== by) fail(`${seat.name} read something else`)
      }
      for (const seat of gone) {
        const read = await seat.decrypt(message).catch(() => undefined)
        if (read !== undefined) fail(`${seat.name} was removed and reads on`)
      }
    },
  }
}

function fail(what: string): never {
  throw new Error(what)
}
