// Speaks with the server: one method for each request, and events that tell of other tabs.

export class Refused extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

const GONE =
  "whence does not answer: it has ended, or this machine slept. Start it again with whence web; " +
  "your answers are kept.";

export async function call(method, params = {}, signal = undefined) {
  let response;
  try {
    response = await fetch("call", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ method, params }),
      cache: "no-store",
      credentials: "same-origin",
      signal,
    });
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new Refused("gone", GONE);
  }
  let answer;
  try {
    answer = await response.json();
  } catch {
    throw new Refused(
      "gone",
      response.status === 403
        ? "This tab belongs to an earlier server. Use the address that whence printed last."
        : GONE,
    );
  }
  if (answer.error) {
    const { code, message, cure } = answer.error;
    throw new Refused(code, cure ? `${message} (${cure})` : message);
  }
  return answer.result;
}

/**
 * Calls `changed` when the session changed in any tab, `progressed` with what takes long, and
 * `reachable` when it is known anew whether the server is.
 */
export function listen(changed, progressed, reachable) {
  const source = new EventSource("events");
  source.addEventListener("changed", (event) => {
    reachable(true);
    changed(JSON.parse(event.data));
  });
  source.addEventListener("progress", (event) => progressed(JSON.parse(event.data)));
  source.onerror = () => reachable(false);
  window.addEventListener("pagehide", () => source.close());
  return source;
}

export { GONE };
