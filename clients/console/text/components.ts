export const t = {
  title: "React components",
  about: "Every component of @signet/react, with its code and a live example. The examples call this server as you.",
  what: {
    useSession: "The state of the sign-in. It renders again at every change, also of another tab.",
    useAuthorized:
      "Whether the token has scopes. It protects nothing: a page leaves out what the service would refuse.",
    SignIn: "A button for each connection of the app.",
    UserButton: "The person, with a menu to sign out here or everywhere.",
    Account: "Sessions, linked accounts, personal access tokens, export and deletion. Each part is also a component.",
    Members: "Invites, approves, suspends, resumes and removes members, for an administrator.",
    List: "A table of a paged list, with its loading, empty and failed states.",
    Confirm: "Asks before a destructive action, and says what it ends.",
    Failed: "Says what failed and what to do next, by the typed reason.",
    ShownOnce: "A secret that is in the page only while this part is.",
    Status: "A state as a word with a color.",
    Time: "A time in the reader's zone.",
  },
  exampleFailure: "The example failed",
  exampleLabel: "An example, not a secret",
  exampleSecret: "shown-once-example",
  exampleItems: ["First", "Second"] as readonly string[],
  exampleHead: "Item",
  exampleNone: "No item.",
  exampleAction: "Ask",
  exampleQuestion: "End this example?",
  exampleAbout: "1 example ends. Nothing else changes.",
}

export const code = {
  useSession: 'const state = useSession()\nif (state.is === "signedIn") show(state.user)',
  useAuthorized: 'const canRead = useAuthorized({ scopes: ["auth.members.read"] })',
  SignIn: '<SignIn returnTo="/" />',
  UserButton: '<UserButton onManage={() => navigate("/account")} />',
  Account: "<Account />",
  Members: "<Members appId={appId} tenantId={tenantId} />",
  List: '<List list={list} columns={columns} keyOf={({ id }) => id} none="No item." label="Items" />',
  Confirm:
    '<Confirm title="End it?" about="1 item ends." action="End"\n  isPending={end.isPending} onConfirm={() => end.run()} onClose={close} />',
  Failed: "<Failed error={read.error} retry={read.reload} />",
  ShownOnce: '<ShownOnce label="Client secret" secret={secret} />',
  Status: '<Status name="DELETION_PENDING" />',
  Time: "<Time at={createdAt} />",
}
