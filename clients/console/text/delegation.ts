import { duration, t as frame } from "./frame.ts"

const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" })

export const t = {
  more: frame.more,
  thisApp: frame.nav.thisApp,
  title: "Delegation",
  about: "Which service acts for whom, at which services, until when.",
  ofPeople: "Who acts for whom",
  columns: ["For", "Acts", "At"] as const,
  legend:
    "A line is a policy: the service acts with the token of a person who is signed in. A dashed line also holds while the person is offline. Choose a name to see only its paths.",
  drawn: (shown: number, of: number) => `The picture has the first ${shown} of ${of}; the list has all.`,
  policies: "Policies",
  standing: "While the person is offline",
  own: "What you have allowed",
  ownStanding: "While you are offline",
  noPolicies: "No service may act for the people of this app.",
  noStanding: "Nobody has allowed it while offline.",
  noOwn: "No service acts for you while you are offline.",
  noneChosen: "No path of the chosen name.",
  everyone: (place: string) => `Everyone in ${place}`,
  you: "You",
  letsAct: (isYou: boolean) => (isYou ? "let" : "lets"),
  actsAt: "act at",
  perToken: (seconds: number) => `each token for at most ${duration(seconds)}`,
  until: (date: string) => `until ${date}`,
  ended: (date: string) => `ended ${date}`,
  stopped: (date: string) => `stopped ${date}`,
  stop: "Stop",
  stopTitle: "Stop this delegation?",
  day: (ms: number) => day.format(ms),
}
