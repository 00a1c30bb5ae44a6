// Starts the language server and passes the settings of the editor to it.

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

// Settings with a text: an empty one is left out, so that the server uses its default.
const TEXTS = ["configFile", "subsystem", "localName", "for"];
const OTHERS = ["param", "noEnv", "exec", "select", "ignore", "usedBy", "redact"];

// Files that configurations include.
const WATCHED = ["**/condor_config*", "**/config.d/*", "**/*.{conf,config,condor}"];

let client;

function settings() {
  const section = vscode.workspace.getConfiguration("htcondor");
  const chosen = {};
  for (const name of TEXTS) {
    const value = section.get(name);
    if (value) chosen[name] = value;
  }
  for (const name of OTHERS) chosen[name] = section.get(name);
  return chosen;
}

async function start() {
  const folder = vscode.workspace.workspaceFolders?.find((one) => one.uri.scheme === "file");
  const server = {
    command: vscode.workspace.getConfiguration("htcondor").get("server.path"),
    args: ["lsp"],
    options: folder ? { cwd: folder.uri.fsPath } : {},
  };
  const options = {
    documentSelector: ["condor-config", "condor-transform"].flatMap((language) =>
      ["file", "untitled"].map((scheme) => ({ scheme, language })),
    ),
    initializationOptions: settings(),
    synchronize: { fileEvents: WATCHED.map((pattern) => vscode.workspace.createFileSystemWatcher(pattern)) },
  };
  client = new LanguageClient("htcondor", "HTCondor", server, options);
  try {
    await client.start();
  } catch (error) {
    vscode.window.showErrorMessage(`HTCondor: cannot start the language server '${server.command}': ${error.message ?? error}`);
  }
}

async function stop() {
  const old = client;
  client = undefined;
  // A client that never started cannot be stopped.
  await old?.stop().catch(() => undefined);
}

async function activate(context) {
  context.subscriptions.push(
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration("htcondor")) {
        await stop();
        await start();
      }
    }),
  );
  await start();
}

module.exports = { activate, deactivate: stop };
