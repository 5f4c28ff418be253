"use strict";

// Click on a heading: sort by that column, numbers as numbers; again: the other way round.
for (const table of document.querySelectorAll("table.sortable")) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    heading.firstElementChild.addEventListener("click", () => {
      const falling = heading.getAttribute("aria-sort") === "ascending";
      for (const other of headings) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", falling ? "descending" : "ascending");
      const value = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
      const numbers = [...table.tBodies[0].rows].every((row) => !Number.isNaN(Number(value(row))));
      const rows = [...table.tBodies[0].rows].sort((a, b) =>
        numbers ? value(a) - value(b) : value(a).localeCompare(value(b)));
      if (falling) rows.reverse();
      table.tBodies[0].append(...rows);
    });
  });
}

// Search: rows of all features, selected and dropped, that have the words in them.
const search = document.getElementById("search");
if (search) {
  const rows = [...document.querySelectorAll("#kept tbody tr, #dropped tbody tr")];
  search.addEventListener("input", () => {
    const words = search.value.toLowerCase().trim();
    let shown = 0;
    for (const row of rows) {
      row.hidden = !row.textContent.toLowerCase().includes(words);
      shown += !row.hidden;
    }
    document.getElementById("found").textContent = words ? `${shown} of ${rows.length} features` : "";
  });
}
