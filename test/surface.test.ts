// What each package lets others import, and what the specification forbids anybody to expose.
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { expect, test } from "vitest"
import { protoExports } from "../scripts/packages/proto-exports.ts"

interface Manifest {
  name: string
  private?: boolean
  bin?: Record<string, string>
  exports?: Record<string, string>
  publishConfig?: { exports?: Record<string, string> }
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
  workspaces?: string[]
}

const root = resolve(import.meta.dirname, "..")
const manifest = (folder: string) => JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as Manifest
const workspaces = manifest(".").workspaces ?? []
/** The kernel, the stand-ins and the console are built into other packages. */
const inside = ["server/kernel", "server/development", "clients/console"]
const named = workspaces.filter((folder) => !inside.includes(folder))
const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
  packages: Record<string, { version?: string; integrity?: string; license?: string }>
}

/** What a package exports once it is published: the repository's own imports may reach further. */
const publishedExports = (folder: string): Record<string, string> => {
  const { name, exports = {}, publishConfig } = manifest(folder)
  return name === "@signet/proto" ? protoExports() : (publishConfig?.exports ?? exports)
}

test("the packages and what they export are these", () => {
  const published = named.filter((folder) => folder !== "gen")
  const found = published.map((folder) => [manifest(folder).name, Object.keys(publishedExports(folder)).sort()])
  expect(Object.fromEntries(found)).toEqual({
    "@signet/canonical": ["."],
    "@signet/guard": [
      ...[".", "./connect", "./edge", "./express", "./fastify", "./fetch", "./mailbox", "./mailbox-contexts"],
      ...["./mailbox-replay", "./mailbox-replay-sql", "./mailbox-sender", "./next", "./node", "./port", "./tool"],
    ],
    // The engine and its crypto are inside, and stay there.
    "@signet/client": [
      ".",
      "./messaging",
      "./messaging/backup",
      "./messaging/history",
      "./messaging/peek",
      "./messaging/push",
    ],
    "@signet/client-web": [
      ".",
      "./messaging",
      "./messaging/backup",
      "./messaging/history",
      "./messaging/peek",
      "./messaging/push",
    ],
    "@signet/client-node": [".", "./messaging", "./messaging/backup", "./messaging/history", "./messaging/push"],
    "@signet/client-native": [".", "./wasm", "./workers"],
    "@signet/client-react-native": ["."],
    "@signet/react": [".", "./account", "./core", "./members", "./theme.css"],
    // A command, not a library.
    "@signet/cli": [],
    "@signet/server": [],
  })
})

test("every published export exists", () => {
  for (const folder of named) {
    const targets = [...Object.values(publishedExports(folder)), ...Object.values(manifest(folder).bin ?? {})]
    expect(
      targets.filter((target) => !existsSync(join(root, folder, target))),
      folder,
    ).toEqual([])
  }
})

test("no published export is a pattern", () => {
  for (const folder of named) {
    const names = Object.entries(publishedExports(folder)).flat()
    expect(
      names.filter((name) => name.includes("*")),
      folder,
    ).toEqual([])
  }
})

test("the published contract lacks the messages that only devices store or only the server uses", () => {
  const names = Object.keys(protoExports())
  expect(names).toContain("./auth/v1/auth_service")
  expect(names).toContain("./signet/authz/v1/requirement_pb.js")
  expect(names.filter((name) => /(^\.\/|signet\/)(client\/|grpc\/reflection)/.test(name))).toEqual([])
})

const identityClient = [
  ...["SecretBoxError", "SignetError", "connect", "createSignet", "failureOf", "isFailure", "isSecretBoxError"],
  ...["isSignetError", "needsSignIn", "rest", "secretBoxReasons"],
]

const backups = [
  ...["deleteStoredBackup", "exportBackup", "exportBackupWithPassphrase", "listStoredBackups", "readBackup"],
  ...["restoreBackup", "storeBackup", "storeBackupWithPassphrase", "storedBackup"],
]
const pushes = ["deletePushEndpoint", "pushSettings", "setPushEndpoint"]
const histories = [
  ...["cancelHistory", "confirmHistoryCode", "grantHistoryByCode", "grantHistoryByQr", "historyRequests"],
  ...["requestHistoryByCode", "requestHistoryByQr", "runHistory"],
]

test.each<[string, () => Promise<object>, string[]]>([
  ["@signet/client", () => import("@signet/client"), identityClient],
  [
    "@signet/guard",
    () => import("@signet/guard"),
    [
      ...["Refused", "anyApp", "createGuard", "createIntrospection", "createKeySet", "createKeyValueCache"],
      ...["createKeyValueSnapshots", "createLocalKeySet", "createPermissionSnapshots", "createRevocationFeed"],
      ...[
        "createServiceToken",
        "explain",
        "notLoaded",
        "problemHeaders",
        "problemOf",
        "requirementOf",
        "webTokenCrypto",
      ],
    ],
  ],
  ["@signet/guard/node", () => import("@signet/guard/node"), ["createNodeGuard", "nodeTokenCrypto"]],
  ["@signet/guard/express", () => import("@signet/guard/express"), ["callerOf", "guardMiddleware"]],
  ["@signet/guard/fastify", () => import("@signet/guard/fastify"), ["callerOf", "guardHook"]],
  ["@signet/guard/fetch", () => import("@signet/guard/fetch"), ["guardFetch", "responseOf"]],
  ["@signet/guard/next", () => import("@signet/guard/next"), ["guardNext"]],
  ["@signet/guard/connect", () => import("@signet/guard/connect"), ["createConnectGuard", "kAuth"]],
  [
    "@signet/canonical",
    () => import("@signet/canonical"),
    [
      ...["CanonicalError", "canonicalCodes", "checkConversationBinding", "checkEffect", "checkResultingState"],
      ...["decode", "deviceFingerprint", "encode", "hash", "parseEnvelopeAad", "placeAfter", "safetyNumber"],
      ...["userFingerprint", "verifyClaimTicket", "verifyCommitReceipt", "verifyDeviceCredential"],
      ...["verifyDeviceList", "verifyDeviceProof", "verifyDeviceRequest", "verifyIssuerKeySet"],
      ...["verifyMembershipProof"],
    ],
  ],
  [
    "@signet/client-web",
    () => import("@signet/client-web"),
    [
      ...identityClient,
      ...["configure", "createBroadcast", "createIdbStorage", "createWebLock", "createWebSecretBox", "grpcWeb"],
    ],
  ],
  [
    "@signet/client-web/messaging",
    () => import("@signet/client-web/messaging"),
    [
      ...["MessagingError", "createMessenger", "isMessagingError", "messagingReasons", "messagingSession"],
      ...["openIdbStore", "openMemoryStore"],
    ],
  ],
  [
    "@signet/client-node/messaging",
    () => import("@signet/client-node/messaging"),
    [
      ...["MessagingError", "createMessenger", "isMessagingError", "messagingReasons", "messagingSession"],
      ...["openFolderStore", "openMemoryStore", "openSqliteStore"],
    ],
  ],
  ["@signet/client-web/messaging/backup", () => import("@signet/client-web/messaging/backup"), backups],
  ["@signet/client-web/messaging/peek", () => import("@signet/client-web/messaging/peek"), ["peek"]],
  [
    "@signet/client-web/messaging/push",
    () => import("@signet/client-web/messaging/push"),
    [...pushes, "subscribeToPush", "unsubscribeFromPush"],
  ],
  ["@signet/client-node/messaging/push", () => import("@signet/client-node/messaging/push"), pushes],
  ["@signet/client-node/messaging/backup", () => import("@signet/client-node/messaging/backup"), backups],
  ["@signet/client-web/messaging/history", () => import("@signet/client-web/messaging/history"), histories],
  ["@signet/client-node/messaging/history", () => import("@signet/client-node/messaging/history"), histories],
  [
    "@signet/client-react-native",
    () => import("@signet/client-react-native"),
    [
      ...["CoreError", "MessagingError", "SecretBoxError", "SignetError", "isMessagingError", "isSecretBoxError"],
      ...["isSignetError", "messagingReasons", "needsSignIn", "openSignet"],
    ],
  ],
  [
    "@signet/react",
    () => import("@signet/react"),
    [
      ...["Account", "Confirm", "Dialog", "Failed", "LinkedAccounts", "List", "Loading", "Members", "OwnData", "Pats"],
      ...["Sessions", "ShownOnce", "SignIn", "SignetProvider", "Status", "Time", "UserButton"],
      ...[
        "asList",
        "claimsIn",
        "amountOf",
        "Counted",
        "dateOf",
        "english",
        "englishAccount",
        "englishFailures",
        "englishMembers",
        "enumName",
        "explainFailure",
        "upTo1000",
        "useAction",
        "useAuthorized",
      ],
      ...["usePages", "useRead", "useService", "useSession", "useSignet", "useText"],
    ],
  ],
  [
    "@signet/client-node",
    () => import("@signet/client-node"),
    [
      ...identityClient,
      ...[
        "configure",
        "createFileLock",
        "createFileStorage",
        "createPassphraseBox",
        "grpc",
        "grpcWeb",
        "openOsSecretBox",
      ],
    ],
  ],
])("%s has these functions and values, and no others", async (_, load, names) => {
  expect(Object.keys(await load()).sort()).toEqual(names.sort())
})

test("the examples import nothing of ours that is not published", () => {
  const published = workspaces.flatMap((folder) =>
    Object.keys(publishedExports(folder)).map((entry) => `${manifest(folder).name}${entry.slice(1)}`),
  )
  const folder = join(root, "docs/examples")
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    /(?<!\.test)\.ts$/.test(name),
  )
  const imported = files.flatMap((name) =>
    [...readFileSync(join(folder, name), "utf8").matchAll(/ from "(@signet\/[^"]+)"/g)].map(
      ([, specifier = ""]) => specifier,
    ),
  )
  expect(imported.length).toBeGreaterThan(10)
  expect(imported.filter((specifier) => !published.includes(specifier))).toEqual([])
})

/** What an app names of conversations, files and comparisons. */
const messengerTypes = [
  ...["AttachmentOptions", "AttachmentSource", "ComparedBy", "ConversationInfo", "ConversationStatus"],
  ...["DeviceFingerprint", "DeviceInfo", "Incoming", "IncomingEnvelope", "MessagingConfig", "MessagingReason"],
  ...["MessengerEvent", "NewKey", "OpenedAttachment", "Person", "QueuedMessage", "Range", "ReadOptions"],
  ...["SentMessage", "TimelineEntry"],
  ...["UploadInfo", "UserVerification", "Verification", "VerificationStatus"],
]
const ofStores = ["MessagingSession", "MessagingStore", "Messenger", "OutboxEntry", "OutgoingEnvelope"]
const ofPlatforms = ["MessengerOptions", "Named", "Op", "Row", "SignedInOptions", "Space", "Table", "Transacted"]

test.each<[string, string, string[]]>([
  ["@signet/client/messaging", "clients/core/messaging/index.ts", [...messengerTypes, ...ofStores, ...ofPlatforms]],
  [
    "@signet/client-web/messaging",
    "clients/web/messaging/index.ts",
    [...messengerTypes, ...ofStores, ...ofPlatforms, "WebMessengerOptions"],
  ],
  [
    "@signet/client/messaging/backup",
    "clients/core/messaging/backup/index.ts",
    [
      ...["Argon2Parameters", "BackupSecret", "BackupSource", "BackupSummary", "ExportedBackup", "RestoredBackup"],
      ...["StoreOptions", "StoredBackup"],
    ],
  ],
  [
    "@signet/client/messaging/history",
    "clients/core/messaging/history/index.ts",
    ["CodeOfDevice", "HistoryProgress", "HistoryRequest"],
  ],
  [
    "@signet/client-node/messaging",
    "clients/node/messaging/index.ts",
    [...messengerTypes, ...ofStores, ...ofPlatforms, "NodeMessengerOptions"],
  ],
  [
    "@signet/client-react-native",
    "clients/react-native/index.ts",
    [
      // Attachments are files: JavaScript has no content of theirs.
      ...messengerTypes.filter((name) => !["AttachmentSource", "OpenedAttachment", "ReadOptions"].includes(name)),
      ...["AppFetch", "AppRequest", "AppResponse", "EnabledProvider", "FailureReason", "FileTransfers"],
      ...["LoggedOutReason", "NativeIdentity", "OutboxEntry", "ReactNativeMessenger", "ReactNativeMessengerOptions"],
      ...["ReactNativeOptions", "SecretBoxReason", "SessionState", "SignInOption", "SignedIn", "SignedInUser"],
      ...["BackupSecret", "BackupSummary", "Backups", "CodeOfDevice", "Histories", "HistoryProgress", "HistoryRequest"],
      ...["PeekRequest", "Peeked", "Preview", "PushEndpoint", "PushEndpoints", "PushSettings", "RestoredBackup"],
      ...["SignetClient", "StoredBackup"],
    ],
  ],
])("%s has these types, and no others", (_, file, names) => {
  expect(typesOf(readFileSync(join(root, file), "utf8")).sort()).toEqual(names.sort())
})

/** The names of types that an index lets others import. */
function typesOf(index: string): string[] {
  const isOfPlatform =
    /export \* from "(@signet\/client\/messaging|(\.\.\/\.\.\/core\/messaging|\.)\/public\.ts)"/.test(index)
  const all = isOfPlatform ? typesOf(readFileSync(join(root, "clients/core/messaging/public.ts"), "utf8")) : []
  for (const [, isType, list = ""] of index.matchAll(/export (type )?\{([^}]*)\}/g)) {
    for (const name of list.split(",").map((part) => part.trim())) {
      if (name.startsWith("type ")) all.push(name.slice("type ".length))
      else if (isType && name !== "") all.push(name)
    }
  }
  return all
}

test("no package exports a signer, a sealing key or what seals with it", async () => {
  const loaded = await Promise.all([
    ...[import("@signet/canonical"), import("@signet/guard"), import("@signet/guard/node"), import("@signet/client")],
    ...[import("@signet/client-web"), import("@signet/client-web/messaging")],
    ...[import("@signet/client-node"), import("@signet/client-node/messaging")],
    ...[import("@signet/client-web/messaging/backup"), import("@signet/client-node/messaging/backup")],
    ...[import("@signet/client-web/messaging/history"), import("@signet/client-node/messaging/history")],
  ])
  const toolkit = ["seedSigner", "nodeSigner", "sealBytes", "openBytes", "importSealingKey", "holdKeys"]
  expect(loaded.flatMap((module) => Object.keys(module)).filter((name) => toolkit.includes(name))).toEqual([])
})

test("no client package exports the engine, its crypto, its state or a key", () => {
  for (const folder of workspaces.filter((path) => path.startsWith("clients/"))) {
    const targets = Object.values(manifest(folder).exports ?? {})
    expect(targets.filter((path) => /engine|crypto|mls|testing|\*/.test(path))).toEqual([])
  }
})

test("the contract has no call that could decrypt, search plaintext or hand out a key", () => {
  const protos = readdirSync(join(root, "proto"), { recursive: true, encoding: "utf8" }).filter((path) =>
    path.endsWith(".proto"),
  )
  const calls = protos.flatMap((path) =>
    [...readFileSync(join(root, "proto", path), "utf8").matchAll(/^\s*rpc (\w+)/gm)].map((match) => match[1] ?? ""),
  )
  expect(calls.length).toBeGreaterThan(7)
  expect(calls.filter((name) => /decrypt|plaintext|search|export.*(key|secret|state)|private/i.test(name))).toEqual([])
})

test("no signed schema is JSON: what is signed is canonical bytes", () => {
  const folder = join(root, "proto/signet/credential/v1")
  for (const file of readdirSync(folder)) {
    expect(readFileSync(join(folder, file), "utf8"), file).not.toMatch(/google\/protobuf\/(struct|any)|map</)
  }
})

test("packages for cryptography or wire formats are pinned to one version, with their hashes in the lock file", () => {
  const pinned = [
    "ts-mls",
    "@hpke/core",
    "@noble/curves",
    "@noble/hashes",
    "@noble/ciphers",
    "@bufbuild/protobuf",
    "jose",
    "@napi-rs/keyring",
    "hash-wasm",
  ]
  const all = Object.assign(
    {},
    ...["."].concat(workspaces).map((folder) => manifest(folder).dependencies ?? {}),
  ) as Record<string, string>
  for (const name of pinned) {
    expect(all[name], name).toMatch(/^\d+\.\d+\.\d+$/)
    expect(lock.packages[`node_modules/${name}`], name).toMatchObject({
      version: all[name],
      integrity: expect.any(String),
    })
  }
})

test("every version in every package is exact", () => {
  for (const folder of ["."].concat(workspaces)) {
    const { dependencies = {}, devDependencies = {} } = manifest(folder)
    const loose = Object.entries({ ...dependencies, ...devDependencies }).filter(
      ([, version]) => !/^(npm:[^@]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(version),
    )
    expect(loose, folder).toEqual([])
  }
})

test("packages that must not be shipped are development dependencies", () => {
  const shipped = ["."].concat(workspaces).flatMap((folder) => Object.keys(manifest(folder).dependencies ?? {}))
  // GPL-3.0: OpenMLS, for the differential test.
  expect(shipped).not.toContain("@wireapp/core-crypto")
  // Insecure: the attack on it is a test.
  expect(shipped).not.toContain("ts-mls-2")
})

test("the lock file names no download address", () => {
  expect(readFileSync(join(root, "package-lock.json"), "utf8")).not.toMatch(/"resolved": "https?:/)
})
