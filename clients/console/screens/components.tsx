// The components of @signet/react, each with its code and a live example that calls this server.

import { Account, LinkedAccounts, OwnData, Pats, Sessions } from "@signet/react/account"
import {
  Confirm,
  Counted,
  Dialog,
  Failed,
  List,
  ShownOnce,
  SignIn,
  Status,
  Time,
  UserButton,
  useAction,
  useAuthorized,
  useSession,
} from "@signet/react/core"
import { Members } from "@signet/react/members"
import { type ReactNode, useState } from "react"
import { useAccess } from "../access.tsx"
import { Card, Page } from "../page.tsx"
import { code, t } from "../text/components.ts"

/** The documentation page of @signet/react. */
export function Components(): ReactNode {
  const { appId, tenantId = "", contextId = "" } = useAccess()
  const examples: readonly (readonly [name: keyof typeof code, example: ReactNode])[] = [
    ["useSession", <SessionExample key="example" />],
    ["useAuthorized", <AuthorizedExample key="example" />],
    ["SignIn", <SignIn key="example" returnTo="/console/components" />],
    ["UserButton", <UserButton key="example" />],
    ["Account", <Account key="example" />],
    ["Sessions", <Sessions key="example" />],
    ["LinkedAccounts", <LinkedAccounts key="example" />],
    ["Pats", <Pats key="example" />],
    ["OwnData", <OwnData key="example" />],
    ["Members", <Members key="example" {...{ appId, tenantId, contextId }} />],
    ["List", <ListExample key="example" />],
    ["Confirm", <ConfirmExample key="example" />],
    ["Counted", <Counted key="example" about={t.exampleQuestion} count={async () => t.exampleCount} />],
    ["Dialog", <DialogExample key="example" />],
    // A page that shows it has not loaded.
    ["Loading", undefined],
    ["useAction", <ActionExample key="example" />],
    // The console's own provider is around this page.
    ["SignetProvider", undefined],
    ["Failed", <Failed key="example" error={new Error(t.exampleFailure)} retry={() => {}} />],
    ["ShownOnce", <ShownOnce key="example" label={t.exampleLabel} secret={t.exampleSecret} />],
    ["Status", <Status key="example" name="DELETION_PENDING" />],
    ["Time", <Time key="example" at={exampleTime} />],
  ]
  return (
    <Page title={t.title} about={t.about}>
      {examples.map(([name, example]) => (
        <Card key={name} title={name}>
          <p className="signet-muted">{t.what[name]}</p>
          <pre className="component-code">
            <code>{code[name]}</code>
          </pre>
          {example && <div className="component-example">{example}</div>}
        </Card>
      ))}
      <Card title={t.functions}>
        <div className="signet-table">
          <table>
            <thead>
              <tr>
                <th scope="col">{t.name}</th>
                <th scope="col">{t.does}</th>
              </tr>
            </thead>
            <tbody>
              {t.functionsAre.map(([name, does]) => (
                <tr key={name}>
                  <th scope="row">
                    <code>{name}</code>
                  </th>
                  <td>{does}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </Card>
    </Page>
  )
}

const exampleTime = { seconds: 1_800_000_000n, nanos: 0 }

function SessionExample(): ReactNode {
  return <p>{useSession().is}</p>
}

function AuthorizedExample(): ReactNode {
  return <p>{useAuthorized({ scopes: ["auth.members.read"] })}</p>
}

function ListExample(): ReactNode {
  const items = t.exampleItems
  return (
    <List
      list={{ items, error: undefined, isPending: false, hasMore: false, more: () => {}, reload: () => {} }}
      keyOf={(item) => item}
      columns={[{ head: t.exampleHead, cell: (item) => item }]}
      none={t.exampleNone}
      label={t.exampleHead}
    />
  )
}

function ConfirmExample(): ReactNode {
  const [isAsking, setAsking] = useState(false)
  return (
    <>
      <button type="button" className="signet-button" onClick={() => setAsking(true)}>
        {t.exampleAction}
      </button>
      {isAsking && (
        <Confirm
          title={t.exampleQuestion}
          about={t.exampleAbout}
          action={t.exampleAction}
          isPending={false}
          onConfirm={() => setAsking(false)}
          onClose={() => setAsking(false)}
        />
      )}
    </>
  )
}

function DialogExample(): ReactNode {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button type="button" className="signet-button" onClick={() => setOpen(true)}>
        {t.exampleOpen}
      </button>
      {isOpen && (
        <Dialog title={t.exampleQuestion} onClose={() => setOpen(false)}>
          <p>{t.exampleAbout}</p>
          <button type="button" className="signet-button" onClick={() => setOpen(false)}>
            {t.exampleClose}
          </button>
        </Dialog>
      )}
    </>
  )
}

function ActionExample(): ReactNode {
  const wait = useAction(() => new Promise((done) => setTimeout(done, 500)))
  return (
    <button type="button" className="signet-button" disabled={wait.isPending} onClick={() => wait.run()}>
      {wait.isPending ? t.examplePending : t.exampleAction}
    </button>
  )
}
