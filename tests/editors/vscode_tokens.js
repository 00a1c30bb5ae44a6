// Prints the tokens that VS Code's own tokeniser finds in a file: for each line a list of [start, end, scopes], as JSON.
// Arguments: directory of the grammars, scope name, file. The packages vscode-textmate and vscode-oniguruma are found
// through NODE_PATH.

const fs = require("fs");
const path = require("path");
const textmate = require("vscode-textmate");
const oniguruma = require("vscode-oniguruma");

async function main([directory, scope, file]) {
  await oniguruma.loadWASM(fs.readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm")).buffer);
  const registry = new textmate.Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async (name) => {
      const grammar = path.join(directory, `${name.replace("source.", "")}.tmLanguage.json`);
      return textmate.parseRawGrammar(fs.readFileSync(grammar, "utf8"), grammar);
    },
  });
  const grammar = await registry.loadGrammar(scope);
  let state = textmate.INITIAL;
  const lines = fs.readFileSync(file, "utf8").split("\n").map((line) => {
    const result = grammar.tokenizeLine(line, state);
    state = result.ruleStack;
    return result.tokens.map((token) => [token.startIndex, token.endIndex, token.scopes.slice(1)]);
  });
  process.stdout.write(JSON.stringify(lines));
}

main(process.argv.slice(2));
